//go:build !js

package cli

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/damage"
)

// damaging is a run of damage.
type damaging struct {
	seed           uint64
	list           bool
	comments       bool
	asJSON         bool
	kind           *damage.Damage
	in, out        string
	stdout, stderr io.Writer
}

func newDamage() *cobra.Command {
	var d damaging
	cmd := &cobra.Command{
		Use:   "damage KIND[:PARAM] IN OUT",
		Short: "damage a capture: drop, copy, join, cut or restamp packets",
		Long: "Damage reads a capture and writes it as pcapng with one damage, as overloaded\n" +
			"taps, mirror ports, offloads, snap lengths and bad clocks make them. What is\n" +
			"found in IN should not change in OUT, or become undecided: accuracy checks\n" +
			"that. --list lists the kinds. IN may be \"-\", OUT too; an OUT that ends in .gz\n" +
			"is compressed.\n\n" +
			"Only what the kind says changes. Checksums stay as right, or wrong, as they\n" +
			"were. The same IN, KIND and --seed give the same OUT. It counts on standard\n" +
			"error what it did, and the packets that cannot be rewritten, which stay.",
		Example: "  tcpwheel damage drop:1% sample:burst damaged.pcapng\n  tcpwheel damage --list",
		Args:    cobra.MaximumNArgs(3),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			d.stdout, d.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			if d.list {
				if len(args) > 0 {
					return usage(cmd, fmt.Errorf("damage: --list with %q", args[0]))
				}
				return d.writeList()
			}
			if len(args) < 3 {
				return usage(cmd, fmt.Errorf("damage: %d arguments, want KIND, IN and OUT", len(args)))
			}
			if d.asJSON && args[2] == "-" {
				return usage(cmd, errors.New("damage: --json and the capture, both to standard output"))
			}
			if d.kind, err = damage.Parse(args[0]); err != nil {
				return usage(cmd, err)
			}
			d.in, d.out = args[1], args[2]
			return d.run(cmd)
		},
	}
	f := cmd.Flags()
	f.Uint64Var(&d.seed, "seed", 1, "seed of what is random")
	f.BoolVar(&d.list, "list", false, "list the kinds and what each does")
	f.BoolVar(&d.comments, "comments", false, "name in a comment of each packet the packets of IN that\nit was made from")
	f.BoolVar(&d.asJSON, "json", false, "print the list, or the counts, as JSON")
	return cmd
}

// kindRecord is a kind of damage as JSON.
type kindRecord struct {
	Type    string   `json:"type"` // "damage_kind"
	Name    string   `json:"name"`
	Default string   `json:"default,omitempty"`
	Tries   []string `json:"accuracy_tries,omitempty"`
	About   string   `json:"about" head:"what it does"`

	Text string `json:"-" head:"kind"` // the name with the default
}

func (d *damaging) writeList() error {
	var all []kindRecord
	for i := range damage.Kinds {
		k := &damage.Kinds[i]
		r := kindRecord{"damage_kind", k.Name, k.Default, k.Tries, k.About, k.Name}
		if k.Default != "" {
			r.Text += ":" + k.Default
		}
		all = append(all, r)
	}
	return list(d.stdout, d.asJSON, "Text about", all)
}

// damageRecord is what a damage did, as JSON.
type damageRecord struct {
	Type    string `json:"type"` // "damage"
	File    string `json:"file"`
	Kind    string `json:"kind"`
	Seed    uint64 `json:"seed"`
	Read    int64  `json:"packets"`
	Written int64  `json:"written"`
	Dropped int64  `json:"dropped"`
	Added   int64  `json:"added"`
	Changed int64  `json:"changed"`
	Unfit   int64  `json:"not_rewritten"`
}

// run damages the capture.
func (d *damaging) run(cmd *cobra.Command) error {
	objects, err := listCaptures([]string{d.in})
	if err != nil {
		return err
	}
	if len(objects) != 1 {
		return usage(cmd, fmt.Errorf("damage: %s has %d captures, want one", d.in, len(objects)))
	}
	object := &objects[0]
	total := int64(-1)
	if d.kind.NeedsTotal() {
		if d.in == "-" {
			return usage(cmd, fmt.Errorf("damage: %s reads its input twice, want the name of a file", d.kind))
		}
		stats, err := readCapture(cmd, object, nil, nil, func(*capture.Packet) error { return nil })
		if err != nil && !errors.Is(err, capture.ErrCutShort) {
			return err
		}
		total = stats.Packets
	}
	var counts damage.Counts
	cut := error(nil)
	write := func(w io.Writer) error {
		_, err := readWith(cmd, object, nil, func(r *capture.Reader) (capture.Stats, error) {
			out, err := damage.NewWriter(w, r.Interfaces, d.comments)
			if err == nil {
				counts, err = d.kind.Run(damage.NewFile(r, total), out.Write, d.seed)
			}
			return r.Stats(), err
		})
		if errors.Is(err, capture.ErrCutShort) {
			cut, err = err, nil // what comes before is written
		}
		return err
	}
	if err := d.writeOut(write); err != nil {
		return err
	}
	rec := damageRecord{
		"damage", d.in, d.kind.String(), d.seed, counts.Read, counts.Written, counts.Dropped, counts.Added, counts.Changed, counts.Unfit,
	}
	if d.asJSON {
		if err := newJSONLines(d.stdout).Encode(rec); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(d.stderr, "%d packets read, %d written: %d dropped, %d added, %d changed; %d could not be rewritten\n",
			rec.Read, rec.Written, rec.Dropped, rec.Added, rec.Changed, rec.Unfit)
	}
	return cut
}

// writeOut writes the output.
func (d *damaging) writeOut(write func(io.Writer) error) error {
	if d.out == "-" {
		b := bufio.NewWriterSize(d.stdout, 1<<16)
		if err := write(b); err != nil {
			return err
		}
		return b.Flush()
	}
	if err := checkOutFile("OUT", d.out, []string{d.in}); err != nil {
		return err
	}
	return writeWhole(d.out, func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<16)
		if !strings.HasSuffix(d.out, ".gz") {
			if err := write(b); err != nil {
				return err
			}
			return b.Flush()
		}
		z := gzip.NewWriter(b)
		if err := write(z); err != nil {
			return err
		}
		return errors.Join(z.Close(), b.Flush())
	})
}
