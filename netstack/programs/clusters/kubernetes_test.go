package clusters

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// readJobs decodes the manifests of the studies and of a corpus. An unknown or duplicate field is an
// error.
func readJobs(t *testing.T) (studies, corpus *batch.Job) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "experiments/cluster/kubernetes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	studies, corpus = &batch.Job{}, &batch.Job{}
	if err := yaml.UnmarshalStrict(text, studies); err != nil {
		t.Fatalf("kubernetes.yaml: %v", err)
	}
	if err := yaml.UnmarshalStrict([]byte(shown(t, "yaml")), corpus); err != nil {
		t.Fatalf("docs/corpora.md: %v", err)
	}
	return studies, corpus
}

// TestManifests checks what Kubernetes would reject, and numbers that must agree.
func TestManifests(t *testing.T) {
	studies, corpus := readJobs(t)
	for _, j := range []*batch.Job{studies, corpus} {
		name := j.Name
		s, pod := &j.Spec, &j.Spec.Template.Spec
		if j.APIVersion != "batch/v1" || j.Kind != "Job" || j.Name == "" || len(pod.Containers) != 1 {
			t.Fatalf("%s: %s %s %q, %d containers", name, j.APIVersion, j.Kind, j.Name, len(pod.Containers))
		}
		if s.CompletionMode == nil || *s.CompletionMode != batch.IndexedCompletion || s.Completions == nil || s.Parallelism == nil || *s.Parallelism > *s.Completions {
			t.Errorf("%s: want an indexed Job with parallelism up to completions", name)
		}
		// backoffLimitPerIndex and podFailurePolicy both need pods that never restart.
		if s.BackoffLimitPerIndex == nil || s.BackoffLimit != nil || s.PodFailurePolicy == nil || pod.RestartPolicy != core.RestartPolicyNever {
			t.Errorf("%s: want a limit per index, a policy for failures, and pods that never restart", name)
		}
		c := &pod.Containers[0]
		for _, rule := range s.PodFailurePolicy.Rules {
			if on := rule.OnExitCodes; on != nil && (on.ContainerName == nil || *on.ContainerName != c.Name) {
				t.Errorf("%s: a rule for another container than %s", name, c.Name)
			}
		}
		if got := variables(c)["SHARDS"]; got != fmt.Sprint(*s.Completions) {
			t.Errorf("%s: SHARDS is %s, completions %d", name, got, *s.Completions)
		}
		if j == studies && !slices.Equal(c.Command, []string{"/tcpwheel"}) { // where Containerfile puts it
			t.Errorf("%s: command %q", name, c.Command)
		}
		for _, m := range c.VolumeMounts {
			if !slices.ContainsFunc(pod.Volumes, func(v core.Volume) bool { return v.Name == m.Name }) {
				t.Errorf("%s: no volume %s", name, m.Name)
			}
		}
	}
}

func variables(c *core.Container) map[string]string {
	all := map[string]string{}
	for _, v := range c.Env {
		all[v.Name] = v.Value
	}
	return all
}

// runPods runs the command of a Job's container once for each index, all at once, with the
// environment of its pod and arguments as Kubernetes expands them. The command is that of the
// container, with its first word replaced, in a folder. set replaces variables, and replace parts of
// the arguments.
func runPods(t *testing.T, j *batch.Job, program, dir string, pods int, set map[string]string, replace func(args []string) []string) {
	t.Helper()
	c := &j.Spec.Template.Spec.Containers[0]
	values := variables(c)
	for name, v := range set {
		if _, known := values[name]; !known {
			t.Fatalf("the manifest sets no %s", name)
		}
		values[name] = v
	}
	var env, expand []string
	for name, v := range values {
		env, expand = append(env, name+"="+v), append(expand, "$("+name+")", v)
	}
	var args []string
	for _, a := range c.Args {
		args = append(args, strings.NewReplacer(expand...).Replace(a))
	}
	args = replace(args)
	var wait sync.WaitGroup
	for i := range pods {
		wait.Go(func() {
			p := exec.Command(program, append(slices.Clone(c.Command[1:]), args...)...)
			// Nothing of this machine's environment.
			p.Dir, p.Env = dir, append(slices.Clone(env), fmt.Sprint("JOB_COMPLETION_INDEX=", i), fmt.Sprintf("HOSTNAME=%s-%d", j.Name, i), "KUBERNETES_SERVICE_HOST=10.0.0.1")
			if out, err := p.CombinedOutput(); err != nil {
				t.Errorf("pod %d: %v\n%s", i, err, out)
			}
		})
	}
	wait.Wait()
}

// TestPods runs the pods of both Jobs as processes, and compares with single runs byte for byte.
func TestPods(t *testing.T) {
	binary, dir := build(t), t.TempDir()
	studies, corpus := readJobs(t)
	const pods = 3
	shards := map[string]string{"SHARDS": fmt.Sprint(pods)}

	small := []string{"nichols", "hashing", "fig9"}
	runPods(t, studies, binary, dir, pods, shards, func(args []string) (out []string) {
		for _, a := range args { // small studies replace all, and a folder the volume
			if a == "--all" {
				out = append(append(out, small...), "--quick")
				continue
			}
			out = append(out, strings.ReplaceAll(a, "/studies/", dir+"/"))
		}
		return out
	})
	single, merged := filepath.Join(dir, "single"), filepath.Join(dir, "merged")
	runIn(t, dir, binary, append([]string{"experiment", "run", "--quick", "--out", single}, small...)...)
	runIn(t, dir, binary, "experiment", "merge", filepath.Join(dir, "shards"), "--out", merged)
	sameTrees(t, merged, single, 10)

	data := t.TempDir() // the volume
	copyCaptures(t, filepath.Join(data, "captures"), 1)
	if err := os.Symlink(binary, filepath.Join(data, "tcpwheel")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time as if all pods had run again
		runPods(t, corpus, "/bin/"+corpus.Spec.Template.Spec.Containers[0].Command[0], data, pods, shards, func(args []string) []string { return args })
		sameLines(t, binary, data, pods)
	}
}
