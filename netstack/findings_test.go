package netstack

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// TestGVisorRACKBreaksTiesBackwards shows a fault of gVisor's TCP (docs/findings.md): five segments
// leave at one instant, nothing is lost, and the first one's ACK arrives first.
// rackControl.detectLoss then takes the four later ones for lost and retransmits, 1.25 RTT after
// they left.
//
// RFC 8985 §6.2 step 5 marks a segment lost only if RACK_sent_after holds. It breaks a tie of
// transmit times by end_seq: of two such segments, the one with the higher end_seq was sent later.
func TestGVisorRACKBreaksTiesBackwards(t *testing.T) {
	const rtt, mss, bytes, segments = 100 * time.Millisecond, 1460, 7000, 5
	for _, c := range []struct {
		name string
		ours bool
	}{{"gVisor", false}, {"ours", true}} {
		t.Run(c.name, func(t *testing.T) {
			factory := gtcp.NewProtocol
			if c.ours {
				factory = NewProtocol
			}
			r := newRig(t, factory, c.ours)
			sack := tcpip.TCPSACKEnabled(true)
			if err := r.s.SetTransportProtocolOption(header.TCPProtocolNumber, &sack); err != nil {
				t.Fatal(err)
			}
			l := r.socket("l").bind(rigPort).listen(8)
			p := r.peer(2000)
			p.sack = true
			p.syn()
			r.pass(rtt)
			p.ack()
			r.pass(rtt)
			conn := l.accept("c")
			before := p.sent
			conn.write(bytes)
			if p.sent-before != segments {
				t.Fatalf("%d segments left at one instant, want %d", p.sent-before, segments)
			}
			r.pass(rtt)
			p.send(header.TCPFlagAck, 1, 1+mss, 0)
			before = p.sent
			r.pass(rtt/4 + time.Millisecond)
			got := p.sent - before
			t.Logf("of %d segments that left together, %d left again within %v of the first ACK", segments, got, rtt/4)
			if (got == 0) != c.ours {
				t.Errorf("%d retransmissions within RTT/4 of the first ACK, want none by ours only", got)
			}
		})
	}
}

// TestGVisorKeepsThePort shows a fault of gVisor's TCP (docs/findings.md): a socket that is bound
// to a port of all addresses, and then connects, never gives the port back. Ours does, and so does
// Linux: at once after a reset, and after TIME-WAIT.
//
// cleanupLocked releases the port for ID.LocalAddress, which Connect has set. Bind has reserved it
// for all addresses.
func TestGVisorKeepsThePort(t *testing.T) {
	for _, c := range []struct {
		name string
		ours bool
	}{{"gVisor", false}, {"ours", true}} {
		for name, end := range map[string]func(p *rigPeer, a *rigSocket){
			"reset": func(p *rigPeer, a *rigSocket) {
				p.rst()
				a.close()
			},
			"TIME-WAIT": func(p *rigPeer, a *rigSocket) {
				a.close()
				p.ack()
				p.fin()
			},
		} {
			for addr, bound := range map[string]tcpip.Address{"all addresses": {}, "one address": rigHere} {
				t.Run(c.name+"/"+name+"/"+addr, func(t *testing.T) {
					factory := gtcp.NewProtocol
					if c.ours {
						factory = NewProtocol
					}
					r := newRig(t, factory, c.ours)
					at := tcpip.FullAddress{Addr: bound, Port: 90}
					a := r.socket("a")
					a.say("bind", a.ep.Bind(at))
					p := a.connect(2000)
					p.synAck()
					end(p, a)
					r.pass(time.Hour)
					err := r.socket("b").ep.Bind(at)
					if _, inUse := err.(*tcpip.ErrPortInUse); inUse != (!c.ours && addr == "all addresses") {
						t.Errorf("after an hour, bind of the same port: %v; want it refused by gVisor's TCP only, and for all addresses", err)
					}
				})
			}
		}
	}
}

// TestGVisorPatchesApply applies the patches of docs/findings, one after the other, to a copy of
// the files of go.mod's gVisor.
func TestGVisorPatchesApply(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git applies the patches:", err)
	}
	source, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "gvisor.dev/gvisor").Output()
	if err != nil {
		t.Skip("the source of gVisor is not known:", err)
	}
	patches, err := filepath.Abs("../docs/findings")
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	for _, name := range []string{"rack.go", "snd.go"} {
		file := filepath.Join("pkg/tcpip/transport/tcp", name)
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(source)), file))
		if err == nil {
			err = os.MkdirAll(filepath.Join(to, filepath.Dir(file)), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, file), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"gvisor-ties.patch", "gvisor-undo.patch"} {
		apply := exec.Command("git", "apply", filepath.Join(patches, name))
		apply.Dir, apply.Env = to, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(to))
		if out, err := apply.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
	changed, err := os.ReadFile(filepath.Join(to, "pkg/tcpip/transport/tcp/snd.go"))
	if err != nil || !strings.Contains(string(changed), "undoRecovery()") {
		t.Errorf("the patches change nothing: %v", err)
	}
}
