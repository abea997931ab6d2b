// The wait of a loss that only a retransmission timer repairs, over ns-3's TCP.
//
// Usage: vegas PLAN [KEY=VALUE...] > vegas.csv 2> parameters.txt

#include "plan.h"
#include "sender.h"

#include "ns3/ppp-header.h"

#include <deque>

using namespace ns3;

namespace
{

const int64_t kTick = 500000000; // 4.4BSD's slow tick, in ns
const uint32_t kMss = 1460;

// Kind is a kind of loss that only a timeout can repair, as in the study.
struct Kind
{
    const char* name;
    uint32_t flight; // segments of an exchange
    int lost;        // the lost segment, from 0; -1 is a random one
    uint32_t upTo;   // the last transmission that is lost
};

const Kind kKinds[] = {{"alone", 1, 0, 1}, {"of three", 3, -1, 1}, {"again", 8, 0, 2}};

// Timers are the timers of a sender.
struct Timers
{
    const char* name;
    int64_t floorNs, granularityNs;
    bool bsd; // 4.4BSD's estimator and ticks of expiry, added to ns-3's sender
};

const Timers kTimers[] = {
    {"4.4BSD's ticks", 1000000000, 1, true},
    {"floor 1 s on a clock of 500 ms", 1000000000, kTick, false},
    {"floor 1 s", 1000000000, 1, false},
    {"no floor", 1, 1, false},
};

// Fates drops the packets whose fate is lost, in the order of their arrival.
class Fates : public ErrorModel
{
  public:
    std::deque<bool> lost;

  private:
    bool DoCorrupt(Ptr<Packet>) override
    {
        bool drop = lost.front();
        lost.pop_front();
        return drop;
    }

    void DoReset() override {}
};

// Flow is exchanges of a few segments, one after the other. The last of each between+1 loses one.
class Flow
{
  public:
    Flow(const Plan& plan, const Timers& timers, const Kind& kind, int64_t rttNs, bool changed);
    void Run();

    uint32_t waits = 0, backedOff = 0, other = 0;
    double sumMs = 0;

  private:
    struct Loss
    {
        uint32_t exchange;
        uint32_t attempts = 0;
        int64_t atNs = 0;
        bool byTimer = false, repaired = false;
    };

    bool Lossy(uint32_t n) const { return n % (m_between + 1) == m_between; }
    void Begin();
    void Transmit(Ptr<const Packet> packet);
    bool Lost(uint32_t exchange);
    int64_t DelayNs();

    const Kind& m_kind;
    int64_t m_rttNs, m_backNs;
    double m_cv;
    uint32_t m_between, m_losses, m_exchange = 0;
    bool m_running = false;
    Ptr<Sender> m_sender;
    Ptr<Socket> m_listener;
    Ptr<Channel> m_channel;
    Ptr<Fates> m_fates = CreateObject<Fates>();
    Ptr<UniformRandomVariable> m_even = CreateObject<UniformRandomVariable>();
    Ptr<NormalRandomVariable> m_normal = CreateObject<NormalRandomVariable>();
    int64_t m_slot = -1, m_slotDelayNs = 0, m_lastNs = 0;
    uint32_t m_lostSegment = 0;
    Loss m_loss{UINT32_MAX};
};

Flow::Flow(const Plan& plan, const Timers& timers, const Kind& kind, int64_t rttNs, bool changed)
    : m_kind(kind),
      m_rttNs(rttNs),
      m_backNs(rttNs / 10),
      m_cv(plan.Number("cv")),
      m_between(plan.Number("between")),
      m_losses(plan.Number("losses"))
{
    m_even->SetStream(1); // the same draws for all settings of a seed, whatever ran before
    m_normal->SetStream(2);
    NodeContainer nodes;
    nodes.Create(2);
    InternetStackHelper stack;
    stack.Install(nodes);
    PointToPointHelper link;
    link.DisableFlowControl();
    link.SetDeviceAttribute("DataRate", StringValue("1000Gbps"));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000000p"));
    auto devices = link.Install(nodes);
    auto at = Ipv4AddressHelper("10.0.0.0", "255.255.255.252").Assign(devices);
    m_channel = devices.Get(0)->GetChannel();
    devices.Get(0)->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Flow::Transmit, this));
    devices.Get(1)->TraceConnectWithoutContext("PhyTxBegin", Callback<void, Ptr<const Packet>>([this](Ptr<const Packet>) {
        m_channel->SetAttribute("Delay", TimeValue(NanoSeconds(m_backNs)));
    }));
    DynamicCast<PointToPointNetDevice>(devices.Get(1))->SetReceiveErrorModel(m_fates);

    m_listener = Socket::CreateSocket(nodes.Get(1), TcpSocketFactory::GetTypeId());
    m_listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), 80));
    m_listener->Listen();
    m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(), [](Ptr<Socket> s, const Address&) {
        s->SetRecvCallback([](Ptr<Socket> from) {
            while (from->Recv())
            {
            }
        });
    });
    Ptr<RttEstimator> rtt = CreateObject<RttMeanDeviation>();
    if (timers.bsd)
    {
        rtt = Create<BsdRtt>(NanoSeconds(kTick));
    }
    m_sender = Sender::Make(nodes.Get(0), rtt);
    if (timers.bsd)
    {
        m_sender->tick = NanoSeconds(kTick);
    }
    m_sender->restarts = m_sender->oneSample = changed;
    m_sender->allAcked = [this] {
        if (m_running)
        {
            m_running = false;
            Begin();
        }
    };
    m_sender->SetConnectCallback([this](Ptr<Socket>) { Begin(); }, MakeNullCallback<void, Ptr<Socket>>());
    m_sender->Bind();
    m_sender->Connect(InetSocketAddress(at.GetAddress(1), 80));
}

// Begin begins the next exchange: at a random phase of the tick after a loss, and else at once.
void
Flow::Begin()
{
    if (m_exchange == m_losses * (m_between + 1))
    {
        Simulator::Stop();
        return;
    }
    int64_t waitNs = m_exchange % (m_between + 1) == 0 ? m_even->GetValue(0, kTick) : 0;
    Simulator::Schedule(NanoSeconds(waitNs), [this] {
        m_lostSegment = m_kind.lost < 0 ? m_even->GetInteger(0, m_kind.flight - 1) : m_kind.lost;
        m_exchange++;
        m_running = true;
        m_sender->Send(Create<Packet>(m_kind.flight * kMss), 0);
    });
}

// DelayNs draws the delay of a packet. Packets of one slot take the same time, and none overtakes.
int64_t
Flow::DelayNs()
{
    int64_t now = Simulator::Now().GetNanoSeconds();
    int64_t base = m_rttNs - m_backNs;
    if (now / m_backNs != m_slot)
    {
        m_slot = now / m_backNs;
        double sigma = m_cv * m_rttNs;
        double most = std::min<double>(6 * sigma, base);
        m_slotDelayNs = base + static_cast<int64_t>(std::clamp(m_normal->GetValue(0, 1) * sigma, -most, most));
    }
    m_lastNs = std::max(m_lastNs, now + m_slotDelayNs);
    return m_lastNs - now;
}

// Transmit sets the delay and the fate of a packet that the sender begins to send.
void
Flow::Transmit(Ptr<const Packet> packet)
{
    m_channel->SetAttribute("Delay", TimeValue(NanoSeconds(DelayNs())));
    auto p = packet->Copy();
    PppHeader ppp;
    Ipv4Header ip;
    TcpHeader tcp;
    p->RemoveHeader(ppp);
    p->RemoveHeader(ip);
    p->RemoveHeader(tcp);
    bool lost = false;
    if (p->GetSize() > 0)
    {
        uint32_t segment = (tcp.GetSequenceNumber().GetValue() - 1) / kMss; // of the stream
        uint32_t exchange = segment / m_kind.flight;
        lost = Lossy(exchange) && segment % m_kind.flight == m_lostSegment && Lost(exchange);
    }
    m_fates->lost.push_back(lost);
}

// Lost notes a transmission of the lost segment and decides its fate.
bool
Flow::Lost(uint32_t exchange)
{
    int64_t now = Simulator::Now().GetNanoSeconds();
    if (m_loss.exchange != exchange)
    {
        m_loss = Loss{exchange};
    }
    if (++m_loss.attempts <= m_kind.upTo)
    {
        m_loss.byTimer = m_sender->inTimeout;
        m_loss.atNs = now;
        return true;
    }
    if (m_loss.repaired)
    {
        return false;
    }
    m_loss.repaired = true;
    if (!m_sender->inTimeout)
    {
        other++;
    }
    else if (m_loss.byTimer)
    {
        backedOff++;
    }
    else
    {
        waits++;
        sumMs += (now - m_loss.atNs) / 1e6;
    }
    return false;
}

void
Flow::Run()
{
    Simulator::Stop(Hours(100));
    Simulator::Run();
    Simulator::Destroy();
    Ipv4AddressGenerator::Reset();
    if (waits + backedOff + other != m_losses)
    {
        std::cerr << "vegas: " << waits + backedOff + other << " losses occurred, want " << m_losses << "\n";
        std::exit(1);
    }
}

// Rows prints the waits of a sender by round trip, kind of loss and seed.
void
Rows(const Plan& plan, const Timers& timers, bool changed)
{
    for (const auto& rtt : plan.List("rtts"))
    {
        for (const auto& kind : kKinds)
        {
            for (int seed = 1; seed <= plan.Number("seeds"); seed++)
            {
                RngSeedManager::SetRun(seed);
                Flow run(plan, timers, kind, Plan::ParseNs(rtt), changed);
                run.Run();
                std::cout << timers.name << ',' << changed << ',' << Plan::ParseNs(rtt) << ',' << kind.name << ',' << seed << ',' << run.waits << ','
                          << (run.waits ? run.sumMs / run.waits : 0) << ',' << run.backedOff << ',' << run.other << std::endl;
            }
        }
    }
}

} // namespace

int
main(int argc, char** argv)
{
    Plan plan = Plan::Main(argc, argv);
    std::cout << "timers,changed,rtt_ns,kind,seed,waits,mean_ms,backed_off,other\n";
    for (const auto& timers : kTimers)
    {
        Settings s{timers.floorNs, timers.granularityNs};
        s.sack = false;
        s.Set();
        for (bool changed : {false, true})
        {
            if (!changed || timers.granularityNs == 1)
            {
                Rows(plan, timers, changed);
            }
        }
    }
    plan.PrintUsed(std::cerr);
}
