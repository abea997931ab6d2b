// Pulses against one long flow over ns-3's TCP: they overflow a queue once in each period.
//
// Usage: shrew PLAN [KEY=VALUE...] > shrew.csv 2> parameters.txt

#include "plan.h"
#include "sender.h"

using namespace ns3;

namespace
{

// Shrew is a flow against pulses of a length, once in each period; period 0 is no pulses.
class Shrew
{
  public:
    Shrew(const Plan& plan, int64_t pulseNs, int64_t periodNs, bool changed);
    void Run();

    double share = 0; // of the bottleneck's rate, data that arrived
    uint32_t timeouts = 0;

  private:
    void Fill();
    void Pulse(int64_t n);

    const Plan& m_plan;
    int64_t m_pulseNs, m_periodNs, m_settleNs, m_beginNs;
    uint32_t m_burst = 1; // packets of a pulse
    double m_gapNs;
    Ptr<Sender> m_sender;
    Ptr<Socket> m_listener, m_attack, m_drain;
    uint64_t m_received = 0;
};

Shrew::Shrew(const Plan& plan, int64_t pulseNs, int64_t periodNs, bool changed)
    : m_plan(plan),
      m_pulseNs(pulseNs),
      m_periodNs(periodNs),
      m_settleNs(plan.Ns("settle")),
      m_gapNs(8e9 * plan.Number("packet") / plan.Number("pulse_rate"))
{
    NodeContainer nodes; // the sender, the attacker, the router, the receiver
    nodes.Create(4);
    InternetStackHelper stack;
    stack.Install(nodes);
    PointToPointHelper link;
    link.DisableFlowControl();
    link.SetDeviceAttribute("DataRate", StringValue("100Gbps"));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000000p"));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    Ipv4StaticRoutingHelper routes;
    auto join = [&](int host) {
        auto at = addresses.Assign(link.Install(nodes.Get(2), nodes.Get(host)));
        addresses.NewNetwork();
        routes.GetStaticRouting(nodes.Get(host)->GetObject<Ipv4>())->SetDefaultRoute(at.GetAddress(0), 1);
        return at;
    };
    join(0);
    join(1);
    // ns-3 queues and sends 2 bytes of PPP with each packet: rate and queue have as much more.
    double ppp = 1 + 2 / 1500.0;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(plan.Number("rate") * ppp))));
    link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(plan.Ns("round_trip") / 2)));
    uint64_t packets = plan.Number("buffer") / plan.Number("packet");
    std::string bytes = std::to_string(static_cast<uint64_t>(plan.Number("buffer")) + 2 * packets) + "B";
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(bytes));
    auto at = join(3);

    m_listener = Socket::CreateSocket(nodes.Get(3), TcpSocketFactory::GetTypeId());
    m_listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), 80));
    m_listener->Listen();
    m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(), [this](Ptr<Socket> s, const Address&) {
        s->SetRecvCallback([this](Ptr<Socket> from) {
            while (auto p = from->Recv())
            {
                m_received += p->GetSize();
            }
        });
    });
    m_sender = Sender::Make(nodes.Get(0), CreateObject<RttMeanDeviation>());
    m_sender->restarts = changed;
    m_sender->SetSendCallback([this](Ptr<Socket>, uint32_t) { Fill(); });
    m_sender->SetConnectCallback([this](Ptr<Socket>) { Fill(); }, MakeNullCallback<void, Ptr<Socket>>());
    m_sender->Bind();
    m_sender->Connect(InetSocketAddress(at.GetAddress(1), 80));

    m_drain = Socket::CreateSocket(nodes.Get(3), UdpSocketFactory::GetTypeId());
    m_drain->Bind(InetSocketAddress(Ipv4Address::GetAny(), 9));
    m_drain->SetRecvCallback([](Ptr<Socket> from) {
        while (from->Recv())
        {
        }
    });
    m_attack = Socket::CreateSocket(nodes.Get(1), UdpSocketFactory::GetTypeId());
    m_attack->Bind();
    m_attack->Connect(InetSocketAddress(at.GetAddress(1), 9));
    if (periodNs > 0)
    {
        // The phase depends on the seed and the period alone, not on the runs before it.
        auto even = CreateObject<UniformRandomVariable>();
        even->SetStream(periodNs / 1000000);
        m_beginNs = m_settleNs + static_cast<int64_t>(even->GetValue(0, periodNs));
        while (m_burst * m_gapNs < m_pulseNs)
        {
            m_burst++;
        }
        Pulse(0);
    }
}

// Fill keeps the send buffer full.
void
Shrew::Fill()
{
    if (uint32_t room = m_sender->Room())
    {
        m_sender->Send(Create<Packet>(room), 0);
    }
}

// Pulse schedules packet n of all.
void
Shrew::Pulse(int64_t n)
{
    auto atNs = m_beginNs + n / m_burst * m_periodNs + static_cast<int64_t>(n % m_burst * m_gapNs);
    Simulator::Schedule(NanoSeconds(atNs) - Simulator::Now(), [this, n] {
        m_attack->Send(Create<Packet>(static_cast<uint32_t>(m_plan.Number("packet")) - 28), 0); // less IP and UDP
        Pulse(n + 1);
    });
}

void
Shrew::Run()
{
    uint64_t received = 0;
    Simulator::Schedule(NanoSeconds(m_settleNs), [&] {
        received = m_received;
        timeouts = m_sender->timeouts;
    });
    int64_t durationNs = m_plan.Ns("duration");
    Simulator::Stop(NanoSeconds(m_settleNs + durationNs));
    Simulator::Run();
    share = 8e9 * (m_received - received) / durationNs / m_plan.Number("rate");
    timeouts = m_sender->timeouts - timeouts;
    Simulator::Destroy();
    Ipv4AddressGenerator::Reset();
}

// Row prints the shares of one flow by period and seed.
void
Row(const Plan& plan, const Settings& s, bool changed, const std::string& pulse, const std::vector<std::string>& periods)
{
    for (const auto& period : periods)
    {
        for (int seed = 1; seed <= plan.Number("seeds"); seed++)
        {
            RngSeedManager::SetRun(seed);
            Shrew run(plan, Plan::ParseNs(pulse), Plan::ParseNs(period), changed);
            run.Run();
            std::cout << changed << ',' << s.floorNs << ',' << Plan::ParseNs(pulse) << ',' << Plan::ParseNs(period) << ',' << seed << ',' << run.share << ','
                      << run.timeouts << std::endl;
        }
    }
}

} // namespace

int
main(int argc, char** argv)
{
    Plan plan = Plan::Main(argc, argv);
    std::cout << "changed,floor_ns,pulse_ns,period_ns,seed,share,timeouts\n";
    auto pulses = plan.List("length");
    for (const auto& other : plan.List("other_lengths"))
    {
        pulses.push_back(other);
    }
    auto periods = plan.List("periods");
    periods.insert(periods.begin(), "0s");
    // The plan's published, finer and no_floor: RFC 6298 with three floors. ACKs are not delayed.
    for (const char* floor : {"1s", "200ms", "1ms"})
    {
        Settings s{Plan::ParseNs(floor)};
        s.timestamps = true;
        s.Set();
        Row(plan, s, false, pulses[0], periods);
        Row(plan, s, true, pulses[0], periods);
        for (size_t i = 1; i < pulses.size() && s.floorNs == 1000000000; i++)
        {
            Row(plan, s, false, pulses[i], {"500ms", "1s"}); // half the floor, and the floor
        }
    }
    plan.PrintUsed(std::cerr);
}
