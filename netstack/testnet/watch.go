package testnet

type watcher struct{}

var watched watcher

func (watcher) add(*Net)    {}
func (watcher) remove(*Net) {}
