package all

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"tcpwheel/experiments"
	"tcpwheel/experiments/plan"
)

func TestSpoilProbe(t *testing.T) {
	only := os.Getenv("ONLY")
	bounds := regexp.MustCompile(`want (?:a duration such as 20ms|a whole number|a power of two|a number), (\S+) to (\S+)`)
	for _, s := range Studies() {
		if s.Name == "sweep" || only != "" && !strings.Contains(","+only+",", ","+s.Name+",") {
			continue
		}
		var m map[string]any
		if err := yaml.Unmarshal([]byte(s.Plan), &m); err != nil {
			t.Fatal(err)
		}
		try := func(text string) {
			f, err := plan.Parse("x", []byte("study: "+s.Name+"\n"+text))
			if err != nil {
				fmt.Println("PARSE", s.Name, text, err)
				return
			}
			defer func() {
				if p := recover(); p != nil {
					fmt.Printf("PANIC %s %q: %v\n", s.Name, text, p)
				}
			}()
			j, err := s.OpenPlan(f, true)
			if err != nil {
				fmt.Printf("refused %s %q: %.150v\n", s.Name, text, err)
				return
			}
			cost := 0.0
			for _, c := range j.Cells {
				cost += c.Cost
			}
			if cost > 40 {
				fmt.Printf("costly %s %q %v\n", s.Name, text, cost)
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
			defer cancel()
			r, err := experiments.Run(ctx, []*experiments.Job{j}, experiments.Shard{}, 2, nil)
			if err != nil {
				fmt.Printf("RUN %s %q: %.300v\n", s.Name, text, err)
				return
			}
			if _, err := j.Judge(r[s.Name]); err != nil {
				fmt.Printf("JUDGE %s %q: %.300v\n", s.Name, text, err)
			}
		}
		for k, v := range m {
			if k == "quick" || k == "study" {
				continue
			}
			small := "seeds: 1\n"
			if _, ok := m["seeds"]; !ok || k == "seeds" {
				small = ""
			}
			if l, ok := v.([]any); ok && len(l) > 1 {
				for _, x := range []any{l[0], l[len(l)-1]} {
					b, _ := yaml.Marshal(map[string]any{k: []any{x}})
					try(small + string(b))
				}
				b, _ := yaml.Marshal(map[string]any{k: []any{l[len(l)-1], l[0]}})
				try(small + string(b))
			}
			f, _ := plan.Parse("x", []byte("study: "+s.Name+"\n"+k+": x=y\n"))
			_, err := s.OpenPlan(f, true)
			if err == nil {
				continue
			}
			if b := bounds.FindStringSubmatch(err.Error()); b != nil {
				try(small + k + ": " + b[1] + "\n")
			}
		}
		try("seeds: 1\n")
		fmt.Println("done", s.Name)
	}
}
