// Incast over ns-3's TCP: many servers answer one client through a port with a small buffer.
//
// Usage: incast PLAN [KEY=VALUE...] > incast.csv 2> parameters.txt

#include "plan.h"
#include "sender.h"

using namespace ns3;

namespace
{

// Incast is the queries to n servers under one seed.
class Incast
{
  public:
    Incast(const Plan& plan, uint32_t n, bool changed);
    void Run();

    int64_t tookNs = 0; // sum over the queries that count
    uint32_t counted = 0, timed = 0, timeouts = 0, dropped = 0;

  private:
    struct Server
    {
        Ptr<Sender> socket;
        uint32_t have = 0; // bytes of the request
    };

    Ptr<Node> Host();
    Ptr<Socket> Listen(Ptr<Node> client);
    void Ask();
    void Arrived();
    uint32_t Timeouts() const;

    const Plan& m_plan;
    uint32_t m_n, m_request, m_response, m_warmup, m_queries;
    std::vector<Server> m_servers;
    std::vector<Ptr<Socket>> m_accepted;
    std::map<Ptr<Socket>, uint32_t> m_have; // bytes of each answer
    Ptr<UniformRandomVariable> m_even = CreateObject<UniformRandomVariable>();
    uint32_t m_asked = 0, m_left, m_before = 0;
    int64_t m_since = 0;
};

Incast::Incast(const Plan& plan, uint32_t n, bool changed)
    : m_plan(plan),
      m_n(n),
      m_request(plan.Number("request")),
      m_response((static_cast<uint32_t>(plan.Number("bytes")) + n - 1) / n),
      m_warmup(plan.Number("warmup")),
      m_queries(plan.Number("fewer")),
      m_servers(n),
      m_left(n)
{
    m_even->SetStream(1); // the same draws for all settings of a seed
    auto client = CreateObject<Node>();
    auto port = CreateObject<Node>();
    NodeContainer hosts;
    hosts.Create(n);
    InternetStackHelper stack;
    stack.Install(NodeContainer(NodeContainer(client, port), hosts));

    PointToPointHelper link;
    auto rate = static_cast<uint64_t>(plan.Number("rate"));
    // A packet has 2 bytes of PPP in ns-3, and then a gap: together the bytes of an Ethernet wire.
    double gap = (plan.Number("overhead") - 2) * 8e9 / rate;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
    link.SetDeviceAttribute("InterframeGap", TimeValue(NanoSeconds(static_cast<int64_t>(gap + 0.5))));
    link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(plan.Ns("round_trip") / 4)));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000000p"));
    link.DisableFlowControl(); // no queue discipline above: the queue itself drops

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    Ipv4StaticRoutingHelper routes;
    auto connect = [&](Ptr<Node> host) {
        auto devices = link.Install(port, host);
        auto at = addresses.Assign(devices);
        addresses.NewNetwork();
        routes.GetStaticRouting(host->GetObject<Ipv4>())->SetDefaultRoute(at.GetAddress(0), 1);
        return std::make_pair(devices, at);
    };
    auto [devices, at] = connect(client);
    auto queue = DynamicCast<PointToPointNetDevice>(devices.Get(0))->GetQueue();
    queue->SetAttribute("MaxSize", QueueSizeValue(QueueSize(plan.Text("buffer") + "p")));
    queue->TraceConnectWithoutContext("DropBeforeEnqueue", Callback<void, Ptr<const Packet>>([this](Ptr<const Packet>) { dropped++; }));

    auto listener = Listen(client);
    auto serviceNs = plan.Ns("service");
    for (uint32_t i = 0; i < n; i++)
    {
        connect(hosts.Get(i));
        auto& s = m_servers[i];
        Ptr<TcpCongestionOps> control = CreateObject<TcpNewReno>();
        if (changed)
        {
            control = CreateObject<Growing>();
        }
        s.socket = Sender::Make(hosts.Get(i), CreateObject<RttMeanDeviation>(), control);
        s.socket->keepsBackoff = s.socket->restarts = changed;
        s.socket->SetRecvCallback([this, &s, serviceNs](Ptr<Socket> from) {
            while (auto p = from->Recv())
            {
                s.have += p->GetSize();
            }
            if (s.have >= m_request)
            {
                s.have -= m_request;
                Simulator::Schedule(NanoSeconds(m_even->GetValue(0, serviceNs)), [this, &s] { s.socket->Send(Create<Packet>(m_response), 0); });
            }
        });
        s.socket->Bind();
        s.socket->Connect(InetSocketAddress(at.GetAddress(1), 80));
    }
}

Ptr<Socket>
Incast::Listen(Ptr<Node> client)
{
    auto listener = Socket::CreateSocket(client, TcpSocketFactory::GetTypeId());
    listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), 80));
    listener->Listen();
    listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(), [this](Ptr<Socket> s, const Address&) {
        m_accepted.push_back(s);
        s->SetRecvCallback([this](Ptr<Socket> from) {
            auto& have = m_have[from];
            while (auto p = from->Recv())
            {
                have += p->GetSize();
            }
            if (have >= m_response)
            {
                have -= m_response;
                Arrived();
            }
        });
        Arrived();
    });
    return listener;
}

uint32_t
Incast::Timeouts() const
{
    uint32_t sum = 0;
    for (const auto& s : m_servers)
    {
        sum += s.socket->timeouts;
    }
    return sum;
}

// Arrived notes an open connection or a complete answer. After the last the next query begins.
void
Incast::Arrived()
{
    if (--m_left > 0)
    {
        return;
    }
    if (m_asked > m_warmup)
    {
        tookNs += Simulator::Now().GetNanoSeconds() - m_since;
        counted++;
        uint32_t n = Timeouts() - m_before;
        timeouts += n;
        timed += n > 0;
    }
    if (counted == m_queries)
    {
        Simulator::Stop();
        return;
    }
    Simulator::Schedule(NanoSeconds(m_even->GetValue(0, m_plan.Ns("think"))), [this] { Ask(); });
}

void
Incast::Ask()
{
    m_asked++;
    m_left = m_n;
    m_since = Simulator::Now().GetNanoSeconds();
    m_before = Timeouts();
    for (auto& s : m_accepted)
    {
        s->Send(Create<Packet>(m_request));
    }
}

void
Incast::Run()
{
    Simulator::Stop(Hours(100));
    Simulator::Run();
    if (counted < m_queries)
    {
        std::cerr << "incast: " << counted << " of " << m_queries << " queries\n";
        std::exit(1);
    }
    Simulator::Destroy();
    Ipv4AddressGenerator::Reset();
}

// Row prints the queries of one setting, by number of servers and seed.
void
Row(const Plan& plan, const Settings& s, bool changed)
{
    for (const auto& servers : plan.List("servers"))
    {
        for (int seed = 1; seed <= plan.Number("seeds"); seed++)
        {
            RngSeedManager::SetRun(seed);
            Incast run(plan, std::stoi(servers), changed);
            run.Run();
            std::cout << s.sack << ',' << changed << ',' << s.floorNs << ',' << s.delackNs << ',' << servers << ',' << seed << ',' << run.counted << ','
                      << run.tookNs << ',' << run.timed << ',' << run.timeouts << ',' << run.dropped << std::endl;
        }
    }
}

} // namespace

int
main(int argc, char** argv)
{
    Plan plan = Plan::Main(argc, argv);
    std::cout << "sack,changed,floor_ns,delack_ns,servers,seed,queries,took_ns,timed,timeouts,dropped\n";
    auto delacks = plan.List("delack");
    for (const auto& other : plan.List("other_delacks"))
    {
        delacks.push_back(other);
    }
    for (bool sack : {true, false})
    {
        for (const auto& delack : delacks)
        {
            for (const auto& floor : plan.List("floors"))
            {
                Settings s{Plan::ParseNs(floor)};
                s.sack = sack;
                s.delackNs = delack == "off" ? 0 : Plan::ParseNs(delack);
                s.initialSegments = plan.Number("initial_window") / 1460;
                s.Set();
                Row(plan, s, false);
                Row(plan, s, true);
            }
        }
    }
    plan.PrintUsed(std::cerr);
}
