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

// readJob decodes the manifest. An unknown or duplicate field is an error.
func readJob(t *testing.T) *batch.Job {
	t.Helper()
	text, err := os.ReadFile("losses.yaml")
	if err != nil {
		t.Fatal(err)
	}
	j := &batch.Job{}
	if err := yaml.UnmarshalStrict(text, j); err != nil {
		t.Fatalf("losses.yaml: %v", err)
	}
	return j
}

// TestManifest checks what Kubernetes would reject, and numbers that must agree.
func TestManifest(t *testing.T) {
	j := readJob(t)
	s, pod := &j.Spec, &j.Spec.Template.Spec
	if j.APIVersion != "batch/v1" || j.Kind != "Job" || j.Name == "" || len(pod.Containers) != 1 {
		t.Fatalf("%s %s %q, %d containers", j.APIVersion, j.Kind, j.Name, len(pod.Containers))
	}
	if s.CompletionMode == nil || *s.CompletionMode != batch.IndexedCompletion || s.Completions == nil || s.Parallelism == nil || *s.Parallelism > *s.Completions {
		t.Error("want an indexed Job with parallelism up to completions")
	}
	// backoffLimitPerIndex and podFailurePolicy both need pods that never restart.
	if s.BackoffLimitPerIndex == nil || s.BackoffLimit != nil || s.PodFailurePolicy == nil || pod.RestartPolicy != core.RestartPolicyNever {
		t.Error("want a limit per index, a policy for failures, and pods that never restart")
	}
	c := &pod.Containers[0]
	for _, rule := range s.PodFailurePolicy.Rules {
		if on := rule.OnExitCodes; on != nil && (on.ContainerName == nil || *on.ContainerName != c.Name) {
			t.Errorf("a rule for another container than %s", c.Name)
		}
	}
	if got := variables(c)["SHARDS"]; got != fmt.Sprint(*s.Completions) {
		t.Errorf("SHARDS is %s, completions %d", got, *s.Completions)
	}
	for _, m := range c.VolumeMounts {
		if !slices.ContainsFunc(pod.Volumes, func(v core.Volume) bool { return v.Name == m.Name }) {
			t.Errorf("no volume %s", m.Name)
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

// runPods runs the command of a Job's container once for each index, all at once, in a folder, with
// the environment of its pod and arguments as Kubernetes expands them. set replaces variables.
func runPods(t *testing.T, j *batch.Job, dir string, pods int, set map[string]string) {
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
	args := slices.Clone(c.Command[1:])
	for _, a := range c.Args {
		args = append(args, strings.NewReplacer(expand...).Replace(a))
	}
	var wait sync.WaitGroup
	for i := range pods {
		wait.Go(func() {
			p := exec.Command("/bin/"+c.Command[0], args...)
			// Nothing of this machine's environment.
			p.Dir, p.Env = dir, append(slices.Clone(env), fmt.Sprint("JOB_COMPLETION_INDEX=", i), fmt.Sprintf("HOSTNAME=%s-%d", j.Name, i), "KUBERNETES_SERVICE_HOST=10.0.0.1")
			if out, err := p.CombinedOutput(); err != nil {
				t.Errorf("pod %d: %v\n%s", i, err, out)
			}
		})
	}
	wait.Wait()
}

// TestPods runs the pods of the Job as processes, and compares with a single run.
func TestPods(t *testing.T) {
	binary, data := build(t), t.TempDir() // the volume
	const pods = 3
	copyCaptures(t, filepath.Join(data, "captures"), 1)
	if err := os.Symlink(binary, filepath.Join(data, "tcpwheel")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time as if all pods had run again
		runPods(t, readJob(t), data, pods, map[string]string{"SHARDS": fmt.Sprint(pods)})
		sameLines(t, binary, data, pods)
	}
}
