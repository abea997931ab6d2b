module tcpwheel/netstack/programs

go 1.26.3

replace tcpwheel => ../..

require (
	gvisor.dev/gvisor v0.0.0-20260905035102-160fafc42237 // the stack
	tcpwheel v0.0.0-00010101000000-000000000000 // its TCP
)

require (
	github.com/alicebob/miniredis/v2 v2.40.0 // a Redis server under loss
	github.com/nats-io/nats-server/v2 v2.15.2 // a NATS server under loss
	github.com/nats-io/nats.go v1.55.0 // its client
	github.com/redis/go-redis/v9 v9.23.0 // a Redis client under loss
	golang.org/x/crypto v0.58.0 // ssh under loss
	golang.org/x/sys v0.49.0 // sockets and the trace of the kernels of samples
	google.golang.org/grpc v1.85.0 // gRPC under loss
)

require (
	github.com/antithesishq/antithesis-sdk-go v0.8.0-default-no-op // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/google/btree v1.1.2 // indirect
	github.com/google/go-tpm v0.9.8 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/minio/highwayhash v1.0.4 // indirect
	github.com/nats-io/jwt/v2 v2.8.2 // indirect
	github.com/nats-io/nkeys v0.4.16 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	github.com/vishvananda/netlink v1.3.1 // indirect
	github.com/vishvananda/netns v0.0.5 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/exp v0.0.0-20250711185948-6ae5c78190dc // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/time v0.16.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
