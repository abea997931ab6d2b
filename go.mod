module tcpwheel

go 1.26
