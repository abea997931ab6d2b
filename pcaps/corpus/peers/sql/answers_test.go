package sql

import (
	"cmp"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// answers computes the answers to the queries from JSON.
type answers struct {
	files, conns, episodes, recoveries []record
	days                               map[string]string // of files
}

// group puts records into groups by a key, and returns the keys in order.
func group(all []record, key func(record) (string, bool)) (keys []string, groups map[string][]record) {
	groups = map[string][]record{}
	for _, r := range all {
		if k, ok := key(r); ok {
			groups[k] = append(groups[k], r)
		}
	}
	return slices.Sorted(maps.Keys(groups)), groups
}

func sum(all []record, name string) (total float64) {
	for _, r := range all {
		total += r.number(name)
	}
	return total
}

func count(all []record, is func(record) bool) (n float64) {
	for _, r := range all {
		if is(r) {
			n++
		}
	}
	return n
}

// quantile interpolates, as quantile_cont. It is nil without numbers.
func quantile(all []record, name string, q float64) any {
	var values []float64
	for _, r := range all {
		if r.has(name) {
			values = append(values, r.number(name))
		}
	}
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	at := q * float64(len(values)-1)
	low := int(math.Floor(at))
	return values[low] + (values[min(low+1, len(values)-1)]-values[low])*(at-float64(low))
}

func (a *answers) byKind() (rows []row) {
	keys, groups := group(a.episodes, func(e record) (string, bool) {
		band := "100+ ms"
		if rtt := e.number("rtt_s"); rtt < 0.01 {
			band = "0-10 ms"
		} else if rtt < 0.1 {
			band = "10-100 ms"
		}
		return e.text("kind") + "," + band, e.has("t_rec_s") && e.has("rtt_s")
	})
	for _, k := range keys {
		kind, band, _ := strings.Cut(k, ",")
		rows = append(rows, row{kind, band, float64(len(groups[k])), quantile(groups[k], "t_rec_s", 0.5), quantile(groups[k], "t_rec_s", 0.95)})
	}
	return rows
}

// splitEnd splits address:port.
func splitEnd(end string) (host, port string) {
	i := strings.LastIndexByte(end, ':')
	return end[:i], end[i+1:]
}

// largest sorts rows by a number, the largest first, and keeps n.
func largest(rows []row, column, n int) []row {
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b[column].(float64), a[column].(float64)) })
	return rows[:min(n, len(rows))]
}

func (a *answers) tax() (rows []row) {
	keys, groups := group(a.episodes, func(e record) (string, bool) {
		host, _ := splitEnd(e.text("src"))
		return host, e.number("timer_tax_s") > 0
	})
	for _, k := range keys {
		rows = append(rows, row{k, float64(len(groups[k])), sum(groups[k], "timer_tax_s")})
	}
	return largest(rows, 2, 20)
}

func (a *answers) spurious() (rows []row) {
	keys, groups := group(a.episodes, func(e record) (string, bool) { return a.days[e.text("file")], e.text("kind") == "rto" })
	for _, k := range keys {
		n := float64(len(groups[k]))
		rows = append(rows, row{k, n, count(groups[k], func(e record) bool { return e.text("spurious") == "yes" }) / n})
	}
	return rows
}

func (a *answers) lost() (rows []row) {
	keys, groups := group(a.conns, func(c record) (string, bool) { return a.days[c.text("file")], true })
	for _, k := range keys {
		lost := sum(groups[k], "time_lost_s")
		var share any
		if lost > 0 {
			share = sum(groups[k], "timer_wait_s") / lost
		}
		rows = append(rows, row{k, sum(groups[k], "duration_s"), lost, share})
	}
	return rows
}

// flow returns a direction of a connection.
func flow(c record, i int) record { return record(c["flows"].([]any)[i].(map[string]any)) }

func (a *answers) services() (rows []row) {
	keys, groups := group(a.conns, func(c record) (string, bool) {
		_, port := splitEnd(flow(c, 0).text("dst"))
		return port, true
	})
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	for _, k := range keys {
		port, _ := strconv.ParseFloat(k, 64)
		if lost := sum(groups[k], "time_lost_s"); lost > 0 {
			rows = append(rows, row{port, float64(len(groups[k])), lost})
		}
	}
	return largest(rows, 2, 20)
}

func (a *answers) timers() (rows []row) {
	var fits []record
	for _, c := range a.conns {
		for i := range 2 {
			if fit, ok := flow(c, i)["timers"].(map[string]any); ok {
				fits = append(fits, record(fit))
			}
		}
	}
	keys, groups := group(fits, func(f record) (string, bool) { return cmp.Or(f.text("best"), "unknown"), f.number("gaps") > 0 })
	for _, k := range keys {
		rows = append(rows, row{k, float64(len(groups[k])), sum(groups[k], "gaps")})
	}
	return largest(rows, 1, len(rows))
}

func (a *answers) handshakes() (rows []row) {
	_, groups := group(a.conns, func(c record) (string, bool) {
		for i := range 2 {
			if kinds, ok := flow(c, i)["episodes"].(map[string]any); ok && record(kinds).number("syn") > 0 {
				return "lost", true
			}
		}
		return "", true
	})
	for _, lost := range []string{"", "lost"} {
		if g := groups[lost]; len(g) > 0 {
			rows = append(rows, row{lost != "", float64(len(g)), quantile(g, "handshake_s", 0.5)})
		}
	}
	return rows
}

// read counts texts besides, which JSON leaves out.
func (a *answers) read() []row {
	others := 0.0
	for _, pattern := range []string{"captures/*/*.md", "captures/*/*.tsv"} {
		names, _ := filepath.Glob(pattern)
		others += float64(len(names))
	}
	damaged := count(a.files, func(f record) bool { return f.has("error") })
	cut := count(a.files, func(f record) bool { return f.has("cut_short") })
	return []row{{float64(len(a.files)) + others, others, damaged, cut, sum(a.files, "packets"), sum(a.files, "tcp"), sum(a.files, "evicted")}}
}

func (a *answers) stalls() (rows []row) {
	all := slices.Clone(a.episodes)
	slices.SortFunc(all, func(x, y record) int {
		return cmp.Or(cmp.Compare(y.number("time_lost_s"), x.number("time_lost_s")), cmp.Compare(x.text("file"), y.text("file")),
			cmp.Compare(x.number("retransmission_packet"), y.number("retransmission_packet")))
	})
	for _, e := range all[:min(10, len(all))] {
		rows = append(rows, row{e.text("file"), e.number("retransmission_packet"), e.text("kind"), e.number("time_lost_s")})
	}
	return rows
}

func (a *answers) policies() (rows []row) {
	id := func(r record) [4]any { return [4]any{r["file"], r["conn"], r["sender"], r["packet"]} }
	oracle := map[[4]any]float64{}
	for _, r := range a.recoveries {
		if r.text("policy") == "oracle" {
			oracle[id(r)] = r.number("t_rec_by_range_s")
		}
	}
	keys, groups := group(a.recoveries, func(r record) (string, bool) {
		counts := r.text("gate") == "" && r["filled_in"] == false && r["beyond_horizon"] == false && r.has("t_rec_by_range_s")
		return r.text("policy"), r.text("policy") != "oracle" && counts
	})
	for _, k := range keys {
		saved := 0.0
		for _, r := range groups[k] {
			saved += oracle[id(r)] - r.number("t_rec_by_range_s")
		}
		rows = append(rows, row{k, float64(len(groups[k])), quantile(groups[k], "t_rec_by_range_s", 0.5), saved})
	}
	return rows
}
