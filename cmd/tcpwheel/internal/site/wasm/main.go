//go:build js

// Command wasm is the program of the static page: the commands analyze and replay, and the demo's
// lanes. The page runs it in a worker, with files in memory.
package main

import (
	"encoding/json"
	"os"
	"runtime/debug"
	"syscall/js"
	"time"

	"tcpwheel/cmd/tcpwheel/internal/cli"
	"tcpwheel/cmd/tcpwheel/internal/lanes"
)

// memoryLimit is where analyze and replay collect garbage more often. The page's bound is 1 GB.
const memoryLimit = 600 << 20

func main() {
	if len(os.Args) > 1 && os.Args[1] == "lanes" {
		debug.SetMemoryLimit(lanes.MemoryLimit)
		serveLanes()
	}
	debug.SetMemoryLimit(memoryLimit)
	os.Exit(cli.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// serveLanes gives the page a lanes.Player, as the object named lanes, until the worker ends. Its
// functions return an error as a text, "" for none.
func serveLanes() {
	run, err := lanes.NewRun(1, nil, lanes.DefaultConditions(), nil)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	player := lanes.NewPlayer(run)
	var viewer lanes.Viewer
	var shown *lanes.Frame
	text := func(err error) any {
		if err != nil {
			return err.Error()
		}
		return ""
	}
	define := func(name string, do func(args []js.Value) any) {
		js.Global().Get("lanes").Set(name, js.FuncOf(func(_ js.Value, args []js.Value) any { return do(args) }))
	}
	js.Global().Set("lanes", js.Global().Get("Object").New())
	define("tick", func([]js.Value) any { return text(player.Tick(lanes.FrameEvery)) })
	define("frame", func([]js.Value) any { // the latest as JSON, null if the page has it
		if player.Frame() == shown {
			return nil
		}
		shown = player.Frame()
		b, err := json.Marshal(viewer.Next(shown))
		if err != nil {
			panic("BUG: " + err.Error())
		}
		return string(b)
	})
	define("control", func(args []js.Value) any { return text(player.Control(args[0].String(), args[1].String())) })
	js.Global().Call("lanesReady")
	for {
		time.Sleep(time.Hour)
	}
}
