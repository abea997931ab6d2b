package netns

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// KernelInfo is what the kernel knows of a connection: part of its TCP_INFO.
type KernelInfo struct {
	SRTT, RTO      time.Duration // tcpi_rtt and tcpi_rto
	ATO            time.Duration // tcpi_ato: how long an ACK may wait
	Unacked        uint32        // segments in flight
	Retransmitted  uint32        // segments retransmitted and not yet acknowledged
	FineTimestamps bool          // timestamps count microseconds
	Jiffy          time.Duration // the tick of the kernel's timers
}

const optUsecTS = 64 // TCPI_OPT_USEC_TS of linux/tcp.h, since Linux 6.7

// ReadInfo returns what the kernel knows of a connection.
func ReadInfo(c net.Conn) (KernelInfo, error) {
	var jiffy unix.Timespec // the resolution of the coarse clocks
	if err := unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &jiffy); err != nil {
		return KernelInfo{}, err
	}
	var info *unix.TCPInfo
	if err := onSocket(c, func(fd int) (err error) {
		info, err = unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		return err
	}); err != nil {
		return KernelInfo{}, err
	}
	const us = time.Microsecond
	return KernelInfo{
		SRTT: time.Duration(info.Rtt) * us, RTO: time.Duration(info.Rto) * us, ATO: time.Duration(info.Ato) * us,
		Unacked: info.Unacked, Retransmitted: info.Retrans, FineTimestamps: info.Options&optUsecTS != 0,
		Jiffy: time.Duration(jiffy.Nano()),
	}, nil
}
