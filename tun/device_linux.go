package tun

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Options configure a device. The zero value is a device with offload, in the network namespace of
// the process.
type Options struct {
	// Netns is the network namespace, as for InNamespace.
	Netns string

	// MTU is the MTU of the device and its endpoint, 68 to 65535; 0 is the kernel's default, 1500.
	MTU int

	// NoOffload makes the kernel and the stack segment and checksum every packet themselves.
	NoOffload bool
}

func (o *Options) check() error {
	if o.MTU != 0 && (o.MTU < minMTU || o.MTU > maxMTU) {
		return fmt.Errorf("tun: MTU %d, want %d to %d", o.MTU, minMTU, maxMTU)
	}
	return nil
}

// Device is an open TUN device. Multiple goroutines may invoke methods on it.
type Device struct {
	name     string
	netns    string
	index    int
	offload  bool
	queue    *queue // nil if Open failed
	endpoint *Endpoint
	kernel   *netlink.Handle // in the device's namespace

	done     chan struct{} // closed at the end: see Done
	mu       sync.Mutex
	err      error
	ended    bool // done is closed
	isClosed bool
}

// Open makes the TUN device of that name, or opens the persistent device that has it. In a name, %d
// is replaced by the first free number; "" is "tun%d". Close removes the device unless it is
// persistent. The device is down and has no address until Up and AddAddress.
//
// An error about rights, the device file or the kernel is an *Error, which says what to do.
func Open(name string, o Options) (*Device, error) {
	if err := CheckName(name); err != nil {
		return nil, fmt.Errorf("tun: %w", err)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	d := &Device{name: name, netns: o.Netns, offload: !o.NoOffload, done: make(chan struct{})}
	if err := InNamespace(o.Netns, d.open); err != nil {
		d.release()
		return nil, err
	}
	mtu, err := d.kernelMTU()
	if err == nil && o.MTU != 0 {
		mtu, err = o.MTU, d.setKernelMTU(o.MTU)
	}
	if err != nil {
		d.release()
		return nil, err
	}
	d.endpoint = newEndpoint(d, uint32(mtu))
	return d, nil
}

// open runs in the namespace of the device.
func (d *Device) open() (err error) {
	if d.queue, d.name, err = openQueue(d.name, d.offload); err != nil {
		return err
	}
	if d.kernel, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
		return &Error{"open netlink socket", err, ""}
	}
	link, err := d.kernel.LinkByName(d.name)
	if err != nil {
		return &Error{"find device " + d.name, err, ""}
	}
	d.index = link.Attrs().Index
	return nil
}

// openQueue opens the queue of a device. It returns the device's name.
func openQueue(name string, offload bool) (*queue, string, error) {
	fd, err := unix.Open(deviceFile, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, "", &Error{"open " + deviceFile, err, hintOpen(err)}
	}
	name, err = setUpQueue(fd, name, offload)
	if err != nil {
		unix.Close(fd)
		return nil, "", err
	}
	// Only now: the poller would find a descriptor without a device in error for ever.
	q, err := newQueue(fd)
	return q, name, err
}

func setUpQueue(fd int, name string, offload bool) (string, error) {
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return "", &Error{"name " + name, err, ""}
	}
	ifr.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr); err != nil {
		return "", &Error{"TUNSETIFF " + name, err, hintSetIff(err, name)}
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TUNSETVNETHDRSZ, vnetSize); err != nil {
		return "", &Error{"TUNSETVNETHDRSZ", err, hintKernel}
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TUNSETVNETLE, 1); err != nil {
		return "", &Error{"TUNSETVNETLE", err, hintKernel}
	}
	flagsOff := 0
	if offload {
		flagsOff = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO6
	}
	if err := unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, flagsOff); err != nil {
		return "", &Error{"TUNSETOFFLOAD", err, hintKernel + ", or open it with NoOffload"}
	}
	return ifr.Name(), nil
}

const (
	deviceFile = "/dev/net/tun"
	hintKernel = "the kernel's TUN driver is too old: use Linux 3.19 or later"
)

func hintOpen(err error) string {
	switch {
	case errors.Is(err, unix.ENOENT):
		return "there is no such file: modprobe tun, or mkdir -p /dev/net and mknod /dev/net/tun c 10 200; " +
			"in a container pass it in (--device /dev/net/tun)"
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return "the kernel has no TUN driver: modprobe tun, or use a kernel with CONFIG_TUN"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return "run as root, or let the user read and write the file; in a container pass it in (--device /dev/net/tun)"
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return "too many open files: raise ulimit -n"
	}
	return ""
}

func hintSetIff(err error, name string) string {
	switch {
	case errors.Is(err, unix.EPERM):
		return "run as root or with CAP_NET_ADMIN (--cap-add NET_ADMIN for a container), or have root make the device: " +
			"ip tuntap add dev NAME mode tun user USER vnet_hdr"
	case errors.Is(err, unix.EBUSY):
		return "the device is in use: end the program that has it open, or use another name"
	case errors.Is(err, unix.EINVAL):
		return fmt.Sprintf("%s exists and is of another kind: use another name, or ip link del %s", name, name)
	}
	return ""
}

// Name returns the name of the device.
func (d *Device) Name() string { return d.name }

// Index returns the kernel's number of the device.
func (d *Device) Index() int { return d.index }

// InNamespace is the function InNamespace for the network namespace of the device.
func (d *Device) InNamespace(f func() error) error { return InNamespace(d.netns, f) }

// Endpoint returns the stack's end of the device.
func (d *Device) Endpoint() *Endpoint { return d.endpoint }

// Done returns a channel that is closed when the device ends: by Close, or because the device or
// its namespace was deleted. Without an attached stack, only Close is noticed.
func (d *Device) Done() <-chan struct{} { return d.done }

// Err returns why the device ended: nil before the end, os.ErrClosed after Close.
func (d *Device) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// end records the end of the device. The first reason counts.
func (d *Device) end(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.ended {
		d.ended, d.err = true, err
		close(d.done)
	}
}

// Close detaches the stack, waits for the device's goroutines, and closes the device. The kernel
// then removes it with its addresses and routes, unless it is persistent. A second call does
// nothing. Do not call Close while handling a packet that the endpoint delivers: it would wait for
// itself.
func (d *Device) Close() error {
	d.mu.Lock()
	closed := d.isClosed
	d.isClosed = true
	d.mu.Unlock()
	if closed {
		return nil
	}
	d.end(os.ErrClosed)
	d.endpoint.detach(true)
	d.endpoint.Wait()
	return d.release()
}

// release closes all descriptors.
func (d *Device) release() error {
	var err error
	if d.queue != nil {
		err = d.queue.close()
	}
	if d.kernel != nil {
		d.kernel.Close()
	}
	return err
}
