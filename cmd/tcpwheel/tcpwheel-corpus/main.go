// Command tcpwheel-corpus is tcpwheel for captures by the thousand: analyze and replay also write
// tables of Parquet, read and write object stores, and split the work over machines. It has all
// commands of tcpwheel, and a module of its own, because what it needs for that is as large as
// everything else.
package main

import (
	"tcpwheel/cmd/tcpwheel/internal/cli"
	"tcpwheel/cmd/tcpwheel/tcpwheel-corpus/objectstore"
	"tcpwheel/cmd/tcpwheel/tcpwheel-corpus/parquet"
	"tcpwheel/pcaps/corpus"
)

func main() {
	useCorpora()
	cli.Main()
}

// useCorpora gives the commands their tables and stores.
func useCorpora() { cli.UseCorpora(stores(), &parquet.Format{}) }

// stores opens the object stores. They trust certificates also where the system has none.
func stores() map[string]corpus.OpenStore {
	all := objectstore.Stores()
	for scheme, open := range all {
		all[scheme] = trusting(open)
	}
	return all
}
