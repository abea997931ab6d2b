package clusters

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// slurm is a Slurm on this machine, for one test.
type slurm struct {
	*testing.T
	conf string
	dir  string // of the tasks
}

// startSlurm starts a Slurm, or skips the test if it is not installed.
func startSlurm(t *testing.T) *slurm {
	t.Helper()
	c := exec.Command("bash", "testdata/slurm.sh")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var talk bytes.Buffer
	c.Stderr = &talk
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line == "" {
		err := c.Wait()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 77 {
			t.Skipf("Slurm is not installed: %s", strings.TrimSpace(talk.String()))
		}
		t.Fatalf("slurm.sh: %v\n%s", err, &talk)
	}
	t.Cleanup(func() {
		in.Close()
		if err := c.Wait(); err != nil {
			t.Errorf("slurm.sh: %v\n%s", err, &talk)
		}
	})
	return &slurm{T: t, conf: strings.TrimSpace(line), dir: t.TempDir()}
}

// with returns s for a subtest.
func (s *slurm) with(t *testing.T) *slurm { return &slurm{t, s.conf, s.dir} }

// run runs a command of Slurm in the folder of the tasks.
func (s *slurm) run(name string, args ...string) string {
	s.Helper()
	c := exec.Command(name, args...)
	c.Dir, c.Env = s.dir, append(os.Environ(), "SLURM_CONF="+s.conf)
	out, err := c.CombinedOutput()
	if err != nil {
		s.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// await waits until a task has a state, or until a file exists.
func (s *slurm) await(what string, there func() bool) {
	s.Helper()
	for range 1200 {
		if there() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	logs, _ := filepath.Glob(filepath.Join(s.dir, "*.log"))
	text := s.run("squeue", "-t", "all")
	for _, name := range logs {
		log, _ := os.ReadFile(name)
		text += "\n" + filepath.Base(name) + ":\n" + string(log)
	}
	s.Fatalf("still waiting for %s\n%s", what, text)
}

func (s *slurm) state(task, state string) func() bool {
	return func() bool {
		return strings.HasPrefix(s.run("squeue", "-h", "-t", "all", "-j", task, "-o", "%T"), state)
	}
}

// tasks is the number of tasks of the arrays.
const tasks = 4

// wrapper replaces the program in tasks. It holds the first attempts of tasks 1 and 2 in the middle
// of their work. The words of $ALL, if any, replace --all in the arguments.
const wrapper = `#!/bin/sh
for a; do
	shift
	case "$a" in
	--all) set -- "$@" $ALL ;;
	*) set -- "$@" "$a" ;;
	esac
done
case "$SLURM_ARRAY_TASK_ID ${SLURM_RESTART_COUNT:-0}" in
"1 0" | "2 0")
	for hold in $HOLD 0; do # a program that ended too soon runs again
		"$BINARY" "$@" &
		pid=$!
		sleep "$hold"
		kill -STOP $pid 2>/dev/null && break
	done
	echo $pid >held.tmp.$SLURM_ARRAY_TASK_ID
	mv held.tmp.$SLURM_ARRAY_TASK_ID held.$SLURM_ARRAY_TASK_ID
	wait $pid
	exit $?
	;;
esac
exec "$BINARY" "$@"
`

// array runs a script as an array. It kills task 1 in the middle and requeues it after it failed,
// and requeues task 2 while it runs. All tasks end well.
func (s *slurm) array(script string, env []string, args ...string) {
	s.Helper()
	held, err := filepath.Glob(filepath.Join(s.dir, "held.*"))
	if err != nil {
		s.Fatal(err)
	}
	for _, name := range held {
		if err := os.Remove(name); err != nil {
			s.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.dir, "tcpwheel"), []byte(wrapper), 0o777); err != nil {
		s.Fatal(err)
	}
	env = append(env, "PATH="+s.dir+":"+os.Getenv("PATH"))
	batch := []string{"--parsable", "--array", fmt.Sprintf("0-%d", tasks-1), "--export", "ALL," + strings.Join(env, ",")}
	id := s.run("sbatch", append(append(batch, script), args...)...)
	task := func(i int) string { return fmt.Sprintf("%s_%d", id, i) }
	for _, i := range []int{1, 2} {
		s.await(fmt.Sprint("held task ", i), func() bool {
			_, err := os.Stat(filepath.Join(s.dir, fmt.Sprint("held.", i)))
			return err == nil
		})
	}
	pid, err := os.ReadFile(filepath.Join(s.dir, "held.1"))
	if err != nil {
		s.Fatal(err)
	}
	s.run("kill", "-KILL", strings.TrimSpace(string(pid)))
	s.await("the killed task", s.state(task(1), "FAILED"))
	s.run("scontrol", "requeue", task(1))
	s.run("scontrol", "requeue", task(2))
	for i := range tasks {
		s.await(fmt.Sprint("task ", i), s.state(task(i), "COMPLETED"))
	}
	for i := range tasks {
		want := 0
		if i == 1 || i == 2 {
			want = 1
		}
		if text := s.run("scontrol", "-o", "show", "job", task(i)); !strings.Contains(text, fmt.Sprintf("Restarts=%d ", want)) {
			s.Errorf("task %d: want %d restarts: %s", i, want, text)
		}
	}
}

// TestSlurm runs studies and a corpus as arrays of a real Slurm, with tasks that are killed and
// requeued, and compares with single runs byte for byte.
func TestSlurm(t *testing.T) {
	s := startSlurm(t)
	binary := build(t)
	copyCaptures(t, filepath.Join(s.dir, "captures"), 10)
	env := []string{"BINARY=" + binary}

	t.Run("studies", func(t *testing.T) {
		studies := "nichols hashing fig9"
		s := s.with(t)
		script, err := filepath.Abs(filepath.Join(root, "experiments/cluster/slurm.sh"))
		if err != nil {
			t.Fatal(err)
		}
		s.array(script, append(env, "ALL="+studies, "HOLD=0.1 0.05 0.02", "SHARDS="+filepath.Join(s.dir, "shards")), "--quick")
		single, merged := filepath.Join(s.dir, "single"), filepath.Join(s.dir, "merged")
		runIn(t, s.dir, binary, append([]string{"experiment", "run", "--quick", "--out", single}, strings.Fields(studies)...)...)
		runIn(t, s.dir, binary, "experiment", "merge", filepath.Join(s.dir, "shards"), "--out", merged)
		sameTrees(t, merged, single, 10)
	})
	t.Run("corpus", func(t *testing.T) {
		s := s.with(t)
		script := filepath.Join(s.dir, "losses.sh")
		if err := os.WriteFile(script, []byte(shown(t, "sh")), 0o777); err != nil {
			t.Fatal(err)
		}
		s.array(script, append(env, "HOLD=0.2 0.1 0.05 0.02"))
		sameLines(t, binary, s.dir, tasks)
	})
}
