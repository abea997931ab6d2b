package all

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"
)

// shards is the number of shards in the tests.
const shards = 3

// job has the fields of kubernetes.yaml that the tests use.
type job struct {
	Spec struct {
		CompletionMode string `yaml:"completionMode"`
		Completions    int    `yaml:"completions"`
		Parallelism    int    `yaml:"parallelism"`
		Template       struct {
			Spec struct {
				Containers []struct {
					Command []string `yaml:"command"`
					Args    []string `yaml:"args"`
					Env     []struct{ Name, Value string }
				} `yaml:"containers"`
			} `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

func readJob(t *testing.T) job {
	t.Helper()
	text, err := os.ReadFile("../cluster/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var j job
	if err := yaml.Unmarshal(text, &j); err != nil {
		t.Fatal(err)
	}
	return j
}

// TestNumbersAgree checks that the manifest has the same number of shards everywhere.
func TestNumbersAgree(t *testing.T) {
	j := readJob(t)
	c := j.Spec.Template.Spec.Containers[0]
	if j.Spec.CompletionMode != "Indexed" || len(c.Env) != 1 || c.Env[0].Name != "SHARDS" ||
		c.Env[0].Value != fmt.Sprint(j.Spec.Completions) ||
		j.Spec.Parallelism > j.Spec.Completions {
		t.Errorf("completions %d, parallelism %d, env %v, mode %s", j.Spec.Completions, j.Spec.Parallelism, c.Env,
			j.Spec.CompletionMode)
	}
}

// TestAsProcesses runs the commands of the manifests with the variables that a cluster sets, and
// merges the shards.
func TestAsProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the program several times")
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "tcpwheel")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", binary,
		"tcpwheel/cmd/tcpwheel").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	// Small studies replace --all: the test covers the steps from the variables to the report.
	studies := []string{"nichols", "hashing", "fig9"}
	small := func(args []string) (out []string) {
		for _, a := range args {
			if a == "--all" {
				out = append(append(out, studies...), "--quick")
				continue
			}
			out = append(out, a)
		}
		return out
	}
	start := func(env []string, name string, args ...string) error {
		c := exec.Command(name, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), env...)
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
		}
		return nil
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(start(nil, binary, append([]string{"experiment", "run", "--quick", "--out", "single"}, studies...)...))
	want := tree(t, filepath.Join(dir, "single"))

	c := readJob(t).Spec.Template.Spec.Containers[0]
	script, err := filepath.Abs("../cluster/slurm.sh")
	must(err)
	for _, cluster := range []struct {
		name string
		run  func(i int, out string) error
	}{
		{"kubernetes", func(i int, out string) error {
			// Kubernetes expands $(NAME) and sets JOB_COMPLETION_INDEX.
			var args []string
			for _, a := range small(c.Args) {
				args = append(args, strings.NewReplacer("$(SHARDS)", fmt.Sprint(shards), "/studies/shards",
					out).Replace(a))
			}
			return start([]string{fmt.Sprintf("JOB_COMPLETION_INDEX=%d", i)}, binary, args...)
		}},
		{"slurm", func(i int, out string) error {
			// The script passes --all. A wrapper of the program replaces it with the small studies.
			return start([]string{
				"TCPWHEEL=" + filepath.Join(dir, "small.sh"), "SHARDS=" + out, "SLURM_CPUS_PER_TASK=1",
				fmt.Sprintf("SLURM_ARRAY_TASK_ID=%d", 1+i), "SLURM_ARRAY_TASK_MIN=1",
				fmt.Sprintf("SLURM_ARRAY_TASK_MAX=%d", shards), fmt.Sprintf("SLURM_ARRAY_TASK_COUNT=%d", shards),
			}, script, "--quick")
		}},
	} {
		t.Run(cluster.name, func(t *testing.T) {
			if cluster.name == "slurm" {
				if _, err := exec.LookPath("sh"); err != nil {
					t.Skip(err)
				}
				text := "#!/bin/sh\nfor a; do shift; case \"$a\" in --all) set -- \"$@\" " + strings.Join(studies,
					" ") + ";; *) set -- \"$@\" \"$a\";; esac; done\nexec '" + binary + "' \"$@\"\n"
				if err := os.WriteFile(filepath.Join(dir, "small.sh"), []byte(text), 0o777); err != nil {
					t.Fatal(err)
				}
			}
			out := filepath.Join(dir, "shards-of-"+cluster.name)
			var (
				wait sync.WaitGroup
				errs [shards]error
			)
			for i := range shards {
				wait.Go(func() { errs[i] = cluster.run(i, out) })
			}
			wait.Wait()
			for _, err := range errs {
				if err != nil {
					t.Fatal(err)
				}
			}
			merged := "merged-of-" + cluster.name
			if err := start(nil, binary, "experiment", "merge", out, "--out", merged); err != nil {
				t.Fatal(err)
			}
			got := tree(t, filepath.Join(dir, merged))
			if len(got) != len(want) {
				t.Errorf("%d files, want %d", len(got), len(want))
			}
			for name, text := range want {
				if got[name] != text {
					t.Errorf("%s differs from that of the single run", name)
				}
			}
		})
	}
}

// tree returns the files of a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("%s has %d files", dir, len(all))
	}
	return all
}
