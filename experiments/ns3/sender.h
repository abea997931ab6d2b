// A sender that counts the expiries of its retransmission timer, and can expire on 4.4BSD's ticks.
#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/tcp-tx-buffer.h"

#include <algorithm>
#include <functional>

namespace ns3
{

// Settings are the attributes of all TCP sockets. The attributes not named here are ns-3's own.
struct Settings
{
    int64_t floorNs;              // least retransmission timeout
    int64_t granularityNs = 1;    // G of RFC 6298
    bool sack = true;             // RFC 2018 and RFC 6675
    bool timestamps = false;      // ns-3's clock of timestamps has 1 ms
    int64_t delackNs = 0;         // longest delay of an ACK; 0: none is delayed
    uint32_t initialSegments = 10;

    void Set() const
    {
        auto time = [](int64_t ns) { return TimeValue(NanoSeconds(ns)); };
        Config::SetDefault("ns3::TcpSocketBase::MinRto", time(floorNs));
        Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", time(granularityNs));
        Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(sack));
        Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(timestamps));
        Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(delackNs > 0 ? 2 : 1));
        Config::SetDefault("ns3::TcpSocket::DelAckTimeout", time(std::max<int64_t>(delackNs, 1)));
        // 1500 bytes less the headers, and less the option of timestamps.
        Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(timestamps ? 1448 : 1460));
        Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(initialSegments));
        Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
        Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
        Config::SetDefault("ns3::TcpSocket::TcpNoDelay", BooleanValue(true));
        Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1000));
        Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    }
};

// Growing is NewReno whose window also grows by the ACK that ends a timeout (RFC 5681 section 3.1).
// ns-3 counts the segments that this ACK covers beyond the recovery point. If the timeout repaired
// all data in flight there are none, and a window of one segment stays one.
class Growing : public TcpNewReno
{
  public:
    void IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t acked) override
    {
        bool ends = acked == 0 && tcb->m_congState == TcpSocketState::CA_OPEN && tcb->m_cWnd <= tcb->m_segmentSize;
        TcpNewReno::IncreaseWindow(tcb, ends ? 1 : acked);
    }
};

class Sender : public TcpSocketBase
{
  public:
    uint32_t timeouts = 0;  // expiries with data in flight
    bool inTimeout = false; // an expiry is being handled
    Time tick;              // of expiry; 0 is none
    // The timer restarts at each new ACK, and when the first segment in flight is retransmitted.
    bool restarts = false;
    // A backed-off timeout lasts until there is a new RTT sample, and not until the next ACK.
    bool keepsBackoff = false;
    bool oneSample = false; // one segment in flight is timed, as in 4.4BSD, and not each
    std::function<void()> allAcked; // called when no data is unacknowledged

    // Make returns a sender on a node.
    static Ptr<Sender> Make(Ptr<Node> node, Ptr<RttEstimator> rtt, Ptr<TcpCongestionOps> control = CreateObject<TcpNewReno>())
    {
        auto s = CreateObject<Sender>();
        auto l4 = node->GetObject<TcpL4Protocol>();
        s->SetNode(node);
        s->SetTcp(l4);
        s->SetRtt(rtt);
        s->SetCongestionControlAlgorithm(control);
        s->SetRecoveryAlgorithm(CreateObject<TcpPrrRecovery>());
        l4->AddSocket(s);
        return s;
    }

    // Room returns the bytes that fit into the send buffer.
    uint32_t Room() const { return m_txBuffer->Available(); }

  protected:
    void ReTxTimeout() override
    {
        if (m_state >= ESTABLISHED && m_txBuffer->Size() > 0)
        {
            timeouts++;
        }
        inTimeout = true;
        TcpSocketBase::ReTxTimeout();
        inTimeout = false;
        m_backedOff = m_rto;
        m_samples = m_rtt->GetNSamples();
        Align();
    }

    uint32_t SendDataPacket(SequenceNumber32 seq, uint32_t most, bool withAck) override
    {
        bool again = seq == m_txBuffer->HeadSequence() && seq < m_tcb->m_highTxMark && !inTimeout;
        uint32_t n = TcpSocketBase::SendDataPacket(seq, most, withAck);
        if (restarts && again)
        {
            m_retxEvent.Cancel();
            m_retxEvent = Simulator::Schedule(m_rto, &Sender::ReTxTimeout, this);
        }
        Align();
        return n;
    }

    void UpdateRttHistory(const SequenceNumber32& seq, uint32_t bytes, bool again) override
    {
        if (again || !oneSample || m_history.empty())
        {
            TcpSocketBase::UpdateRttHistory(seq, bytes, again);
        }
    }

    void NewAck(const SequenceNumber32& seq, bool resetRto) override
    {
        TcpSocketBase::NewAck(seq, resetRto || restarts);
        if (keepsBackoff && !m_backedOff.IsZero() && m_samples == m_rtt->GetNSamples())
        {
            m_rto = m_backedOff;
            if (m_retxEvent.IsRunning())
            {
                m_retxEvent.Cancel();
                m_retxEvent = Simulator::Schedule(m_rto, &Sender::ReTxTimeout, this);
            }
        }
        Align();
        if (allAcked && m_txBuffer->Size() == 0)
        {
            Simulator::ScheduleNow(allAcked);
        }
    }

  private:
    Time m_backedOff;       // the timeout after the last expiry
    uint32_t m_samples = 0; // of the RTT, at the last expiry

    // Align moves the expiry to the tick before. A timer of n ticks counts down at each tick, so
    // that it expires at the n-th tick after its start.
    void Align()
    {
        if (tick.IsZero() || !m_retxEvent.IsRunning())
        {
            return;
        }
        Time at = NanoSeconds(m_retxEvent.GetTs() / tick.GetNanoSeconds() * tick.GetNanoSeconds());
        if (at.GetNanoSeconds() == static_cast<int64_t>(m_retxEvent.GetTs()))
        {
            return;
        }
        m_retxEvent.Cancel();
        m_retxEvent = Simulator::Schedule(at - Simulator::Now(), &Sender::ReTxTimeout, this);
    }
};

// BsdRtt is 4.4BSD's integer estimator: t_srtt scaled by 8, t_rttvar by 4, in ticks crossed.
class BsdRtt : public RttEstimator
{
  public:
    explicit BsdRtt(Time tick)
        : m_tick(tick)
    {
    }

    void Measurement(Time rtt) override
    {
        int64_t now = Simulator::Now().GetNanoSeconds();
        int64_t tick = m_tick.GetNanoSeconds();
        int64_t crossed = now / tick - (now - rtt.GetNanoSeconds()) / tick;
        if (m_srtt8 == 0)
        {
            m_srtt8 = (crossed + 1) << 3;
            m_rttvar4 = (crossed + 1) << 1;
        }
        else
        {
            int64_t delta = crossed - (m_srtt8 >> 3);
            m_srtt8 = std::max<int64_t>(m_srtt8 + delta, 1);
            m_rttvar4 = std::max<int64_t>(m_rttvar4 + std::abs(delta) - (m_rttvar4 >> 2), 1);
        }
        m_estimatedRtt = NanoSeconds((m_srtt8 >> 3) * tick);
        m_estimatedVariation = NanoSeconds(m_rttvar4 * tick / 4);
        m_nSamples++;
    }

    Ptr<RttEstimator> Copy() const override { return Create<BsdRtt>(*this); }

  private:
    Time m_tick;
    int64_t m_srtt8 = 0;
    int64_t m_rttvar4 = 0;
};

} // namespace ns3
