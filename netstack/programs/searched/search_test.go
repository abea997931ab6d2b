package searched

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/quic-go/quic-go"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"tcpwheel/netstack/programs"
	"tcpwheel/netstack/testnet"
)

// path is the path of these tests, and limit what a program may take with one lost packet.
var path = testnet.Path{Delay: 20 * time.Millisecond}

// each searches a program, and wants the search to take less than 10 s.
func each(t *testing.T, f func(t *testing.T, n *testnet.Net), o ...testnet.Option) {
	begin := time.Now()
	testnet.EachLoss(t, path, f, o...)
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("the search took %v, want 10 s at most", took)
	}
}

// certificate is httptest's, which is valid at the bubble's time.
var certificate = func() tls.Certificate {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return s.TLS.Certificates[0]
}()

// pages gets three pages over a protocol.
func pages(protocols func(*http.Protocols)) func(t *testing.T, n *testnet.Net) {
	return func(t *testing.T, n *testnet.Net) {
		var p http.Protocols
		protocols(&p)
		s := &http.Server{Protocols: &p, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, strings.Repeat("x", 10_000))
		})}
		go s.Serve(n.Listen(":80"))
		client := n.HTTPClient()
		client.Timeout = 4 * time.Second
		client.Transport.(*http.Transport).Protocols = &p
		for range 3 {
			r, err := client.Get("http://server/")
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.Copy(io.Discard, r.Body); got != 10_000 || err != nil {
				t.Error(got, err)
			}
			r.Body.Close()
		}
	}
}

func TestHTTP1(t *testing.T) { each(t, pages(func(p *http.Protocols) { p.SetHTTP1(true) })) }
func TestHTTP2(t *testing.T) { each(t, pages(func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) })) }

func TestGRPC(t *testing.T) {
	each(t, func(t *testing.T, n *testnet.Net) {
		s := grpc.NewServer()
		healthpb.RegisterHealthServer(s, health.NewServer())
		go s.Serve(n.Listen(":50051"))
		c, err := grpc.NewClient("passthrough:///server:50051", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return n.DialContext(ctx, "tcp", address) }))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			c.Close()
			s.Stop()
		})
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			if _, err := healthpb.NewHealthClient(c).Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
				t.Error(err)
			}
			cancel()
		}
	})
}

// proxy joins each connection of a listener with one that dial makes.
func proxy(l net.Listener, dial func() (net.Conn, error)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		server, err := dial()
		if err != nil {
			c.Close()
			return
		}
		go programs.Splice(c, server)
	}
}

func TestRedis(t *testing.T) {
	each(t, func(t *testing.T, n *testnet.Net) {
		s := miniredis.NewMiniRedis()
		go proxy(n.Listen(":6379"), s.Dial)
		c := redis.NewClient(&redis.Options{
			Addr: "server:6379", Dialer: n.DialContext, DialTimeout: 4 * time.Second, ReadTimeout: 4 * time.Second, MaxRetries: -1,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		defer s.Close()
		defer c.Close()
		for i := range 5 {
			if err := c.Set(t.Context(), "key", i, 0).Err(); err != nil {
				t.Error(err)
			}
			if got, err := c.Get(t.Context(), "key").Int(); got != i || err != nil {
				t.Error(got, err)
			}
		}
	})
}

func TestNATS(t *testing.T) {
	each(t, func(t *testing.T, n *testnet.Net) {
		s, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true})
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
		go proxy(n.Listen(":4222"), s.InProcessConn)
		c, err := nats.Connect("nats://server:4222", nats.SetCustomDialer(n), nats.SkipHostLookup(), nats.Timeout(4*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Subscribe("echo", func(m *nats.Msg) { m.Respond(m.Data) }); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			want := fmt.Sprint("request ", i)
			// Request takes its timer from a pool of the package: it may be another bubble's.
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			if m, err := c.RequestWithContext(ctx, "echo", []byte(want)); err != nil || string(m.Data) != want {
				t.Error(m, err)
			}
			cancel()
		}
	}, testnet.Search{Runs: 150})
}

// servePostgres answers each simple query with one row, "1".
func servePostgres(c net.Conn) {
	defer c.Close()
	b := pgproto3.NewBackend(c, c)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
	b.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	for b.Flush() == nil {
		switch m, err := b.Receive(); m := m.(type) {
		case *pgproto3.Query:
			if m.String == "select pg_sleep(3600)" {
				time.Sleep(time.Hour)
			}
			b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("n"), DataTypeOID: 23, DataTypeSize: 4}}})
			b.Send(&pgproto3.DataRow{Values: [][]byte{[]byte("1")}})
			b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		default:
			if err != nil {
				return
			}
		}
	}
}

// connectPostgres connects pgx, which dials with dial.
func connectPostgres(ctx context.Context, n *testnet.Net, dial func(ctx context.Context, network, address string) (net.Conn, error)) (*pgx.Conn, error) {
	l := n.Listen(":5432")
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go servePostgres(c)
		}
	}()
	cfg, err := pgx.ParseConfig("postgres://user@server:5432/db?sslmode=disable&default_query_exec_mode=simple_protocol")
	if err != nil {
		return nil, err
	}
	cfg.DialFunc = dial
	cfg.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil } // the dial looks it up
	return pgx.ConnectConfig(ctx, cfg)
}

func TestPostgres(t *testing.T) {
	each(t, func(t *testing.T, n *testnet.Net) {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		c, err := connectPostgres(ctx, n, n.DialContext)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(ctx)
		for range 5 {
			var got int
			if err := c.QueryRow(ctx, "select 1").Scan(&got); got != 1 || err != nil {
				t.Error(got, err)
			}
		}
	})
}

func TestQUIC(t *testing.T) {
	each(t, func(t *testing.T, n *testnet.Net) {
		protocols := []string{"echo"}
		l, err := quic.Listen(n.Host("server").ListenPacket(":443"), &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: protocols}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			c, err := l.Accept(context.Background())
			if err != nil {
				return
			}
			s, err := c.AcceptStream(context.Background())
			if err != nil {
				return
			}
			io.Copy(s, s)
			s.Close()
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		tr := &quic.Transport{Conn: n.Host("client").ListenPacket(":0")}
		defer tr.Close()
		to := net.UDPAddr{IP: n.Host("server").Addr().AsSlice(), Port: 443}
		c, err := tr.Dial(ctx, &to, &tls.Config{InsecureSkipVerify: true, NextProtos: protocols}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.OpenStreamSync(ctx)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			s.Write(make([]byte, 20_000))
			s.Close()
		}()
		s.SetReadDeadline(time.Now().Add(4 * time.Second))
		if got, err := io.ReadAll(s); len(got) != 20_000 || err != nil {
			t.Error(len(got), err)
		}
		c.CloseWithError(0, "")
	}, testnet.Search{Runs: 150})
}
