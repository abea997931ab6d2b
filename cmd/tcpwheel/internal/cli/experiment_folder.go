//go:build !js

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tcpwheel/experiments"
	studies "tcpwheel/experiments/all"
	"tcpwheel/experiments/declared"
)

// isStudyFolder reports whether an argument is a folder with a plan and claims.
func isStudyFolder(arg string) bool {
	info, err := os.Stat(arg)
	return err == nil && info.IsDir()
}

// openFolder opens a user's study: a folder with plan.yaml, claims.yaml and figures.yaml.
func openFolder(cmd *cobra.Command, arg string, quick bool) (*experiments.Job, error) {
	full, err := filepath.Abs(arg)
	if err != nil {
		return nil, err
	}
	j, err := declared.Open(os.DirFS(filepath.Dir(full)), filepath.Base(full), quick, studies.Find)
	if err != nil {
		return nil, usage(cmd, err)
	}
	return j, nil
}

func newExperimentNew() *cobra.Command {
	return &cobra.Command{
		Use:   "new FOLDER",
		Short: "write a first study of your own",
		Long: "New makes a folder with a study that runs as it is: plan.yaml says what is run,\n" +
			"claims.yaml what is claimed of the runs, figures.yaml what is shown. Change them,\n" +
			"and run the folder.",
		Example: "  tcpwheel experiment new my-study\n  tcpwheel experiment run my-study --quick",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(cmd, fmt.Errorf("%swant one folder to make", commandPrefix(cmd)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.Mkdir(args[0], 0o777); err != nil {
				return err
			}
			if err := os.CopyFS(args[0], declared.First()); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s has plan.yaml, claims.yaml and figures.yaml. Run it with:\n\n  tcpwheel experiment run %[1]s --quick\n", args[0])
			return err
		},
	}
}

// measureRecord is a line of experiment measures.
type measureRecord struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	Unit    string   `json:"unit,omitempty"`
	Help    string   `json:"help,omitempty"`
	Studies []string `json:"studies"` // whose rows have it
}

// measuresOf returns the measures of studies, each once.
func measuresOf(all []*experiments.Study) (measures []measureRecord) {
	for _, s := range all {
		for _, c := range declared.Columns(s.Row()) {
			i := slices.IndexFunc(measures, func(m measureRecord) bool {
				return m.Name == c.Name && m.Kind == c.Kind && m.Unit == c.Unit && m.Help == c.Help
			})
			if i < 0 {
				i = len(measures)
				measures = append(measures, measureRecord{Name: c.Name, Kind: c.Kind, Unit: c.Unit, Help: c.Help})
			}
			measures[i].Studies = append(measures[i].Studies, s.Name)
		}
	}
	return measures
}

// onBed returns the studies of a bed that have rows of their own: a study that is data has those of
// another.
func onBed(bed string) (all []*experiments.Study) {
	for _, s := range studies.Studies() {
		same := func(o *experiments.Study) bool { return reflect.TypeOf(o.Row()) == reflect.TypeOf(s.Row()) }
		if s.Bed == bed && !slices.ContainsFunc(all, same) {
			all = append(all, s)
		}
	}
	return all
}

// beds returns the names of all beds.
func beds() (names []string) {
	for _, s := range studies.Studies() {
		if !slices.Contains(names, s.Bed) {
			names = append(names, s.Bed)
		}
	}
	return names
}

func newExperimentMeasures() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "measures [BED|STUDY]",
		Short: "list what the runs of a bed or study give, for claims of your own",
		Long: "Measures lists the columns of the rows of a bed's studies, or of one study, and\n" +
			"the operators of expressions over them, as claims.yaml and figures.yaml of a\n" +
			"folder use them. Without a name it lists the beds: what is around the TCP or\n" +
			"the wheel under test.",
		Example: "  tcpwheel experiment measures\n  tcpwheel experiment measures dumbbell\n" +
			"  tcpwheel experiment measures shrew --json",
		Args: wantStudies(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listBeds(cmd, asJSON)
			}
			of := onBed(args[0])
			if len(of) == 0 {
				s, err := findStudy(cmd, args[0], beds()...)
				if err != nil {
					return err
				}
				of = append(of, s)
			}
			return listMeasures(cmd, of, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per measure or bed")
	return cmd
}

func listMeasures(cmd *cobra.Command, of []*experiments.Study, asJSON bool) error {
	out := newJSONLines(cmd.OutOrStdout())
	headings := []string{"measure", "is", "unit", "what"}
	if len(of) > 1 {
		headings = append(headings, "in")
	}
	var rows [][]string
	for _, m := range measuresOf(of) {
		if asJSON {
			if err := out.Encode(m); err != nil {
				return err
			}
			continue
		}
		row := []string{m.Name, m.Kind, m.Unit, m.Help}
		switch {
		case len(of) > 1 && len(m.Studies) == len(of):
			row = append(row, "all")
		case len(of) > 1:
			row = append(row, strings.Join(m.Studies, ", "))
		}
		rows = append(rows, row)
	}
	if asJSON {
		return nil
	}
	if says := of[0].Rows(); len(of) == 1 && says != "" {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), paragraph(says)); err != nil {
			return err
		}
	}
	if err := writeColumns(cmd.OutOrStdout(), headings, rows, nil); err != nil {
		return err
	}
	rows = nil
	for _, o := range declared.Operators() {
		rows = append(rows, []string{o.Usage, o.Help})
	}
	if _, err := fmt.Fprintln(cmd.OutOrStdout()); err != nil {
		return err
	}
	return writeColumns(cmd.OutOrStdout(), []string{"operator", "what"}, rows, nil)
}

// bedRecord is a line of experiment measures without a name.
type bedRecord struct {
	Bed     string   `json:"bed"`
	Studies []string `json:"studies"`

	Names string `json:"-" head:"studies"`
}

func listBeds(cmd *cobra.Command, asJSON bool) error {
	var all []bedRecord
	for _, bed := range beds() {
		r := bedRecord{Bed: bed}
		for _, s := range studies.Studies() {
			if s.Bed == bed {
				r.Studies = append(r.Studies, s.Name)
			}
		}
		r.Names = strings.Join(r.Studies, ", ")
		all = append(all, r)
	}
	return list(cmd.OutOrStdout(), asJSON, "bed Names", all)
}
