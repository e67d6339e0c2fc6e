package deploy

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the ConfigMap")

const manifests = "kubernetes"

// cluster contains the objects of all manifests.
type cluster struct {
	namespace    corev1.Namespace
	config       corev1.ConfigMap
	service      corev1.Service
	collector    appsv1.StatefulSet
	regress      batchv1.CronJob
	state        corev1.PersistentVolumeClaim
	policies     []networkingv1.NetworkPolicy
	kustomized   []string // files that kustomization.yaml lists
	imagesTagged []string
}

// load reads every manifest strictly: a field that the type does not have is an error.
func load(t *testing.T) *cluster {
	t.Helper()
	var c cluster
	paths, err := filepath.Glob(filepath.Join(manifests, "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
		for {
			document, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			c.add(t, path, document)
		}
	}
	return &c
}

func (c *cluster) add(t *testing.T, path string, document []byte) {
	t.Helper()
	var kind struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal(document, &kind); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	strict := func(into any) {
		// As in the API server, field names are case-sensitive.
		data, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		faults, err := json.UnmarshalStrict(data, into)
		if err := errors.Join(append(faults, err)...); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	switch kind.APIVersion + " " + kind.Kind {
	case "v1 Namespace":
		strict(&c.namespace)
	case "v1 ConfigMap":
		strict(&c.config)
	case "v1 Service":
		strict(&c.service)
	case "apps/v1 StatefulSet":
		strict(&c.collector)
	case "v1 PersistentVolumeClaim":
		strict(&c.state)
	case "batch/v1 CronJob":
		strict(&c.regress)
	case "networking.k8s.io/v1 NetworkPolicy":
		var p networkingv1.NetworkPolicy
		strict(&p)
		c.policies = append(c.policies, p)
	case "kustomize.config.k8s.io/v1beta1 Kustomization":
		var k struct {
			APIVersion string   `json:"apiVersion"`
			Kind       string   `json:"kind"`
			Resources  []string `json:"resources"`
			Images     []struct {
				Name   string `json:"name"`
				NewTag string `json:"newTag"`
			} `json:"images"`
		}
		strict(&k)
		c.kustomized = k.Resources
		for _, image := range k.Images {
			c.imagesTagged = append(c.imagesTagged, image.Name)
		}
	default:
		t.Errorf("%s: unexpected %s %s", path, kind.APIVersion, kind.Kind)
	}
}

func TestKustomization_ListsEveryManifest(t *testing.T) {
	c := load(t)
	paths, _ := filepath.Glob(filepath.Join(manifests, "*.yaml"))
	for _, path := range paths {
		if name := filepath.Base(path); name != "kustomization.yaml" && !slices.Contains(c.kustomized, name) {
			t.Errorf("kustomization.yaml does not list %s", name)
		}
	}
	for _, name := range c.kustomized {
		if !slices.Contains(paths, filepath.Join(manifests, name)) {
			t.Errorf("kustomization.yaml lists %s, which does not exist", name)
		}
	}
	for _, spec := range c.pods() {
		for _, container := range spec.Containers {
			if !slices.Contains(c.imagesTagged, container.Image) {
				t.Errorf("kustomization.yaml gives the image %s no tag", container.Image)
			}
		}
	}
}

// TestConfigMap_EqualsDefault checks that the ConfigMap contains config/collector.yaml unchanged. The
// container's environment sets all differences.
func TestConfigMap_EqualsDefault(t *testing.T) {
	path := filepath.Join(manifests, "configmap.yaml")
	if *update {
		if err := os.WriteFile(path, configMap(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, configMap()) {
		t.Error("kubernetes/configmap.yaml differs from config/collector.yaml: run cd deploy && go test . -update")
	}
	if got := load(t).config.Data["collector.yaml"]; got != collectorConfig {
		t.Errorf("the ConfigMap holds another text than config/collector.yaml:\n%s", got)
	}
}

func configMap() []byte {
	var b bytes.Buffer
	b.WriteString(`# The text of config/collector.yaml, unchanged; what differs here is set by the
# environment of the container. After a change: cd deploy && go test . -update
apiVersion: v1
kind: ConfigMap
metadata:
  name: corehour-collector
  namespace: corehour
data:
  collector.yaml: |
`)
	for line := range strings.Lines(collectorConfig) {
		if line != "\n" {
			b.WriteString("    ")
		}
		b.WriteString(line)
	}
	return b.Bytes()
}

func (c *cluster) pods() map[string]*corev1.PodSpec {
	return map[string]*corev1.PodSpec{
		"collector": &c.collector.Spec.Template.Spec,
		"regress":   &c.regress.Spec.JobTemplate.Spec.Template.Spec,
	}
}

// TestPods_Confined checks that the pods comply with the restricted policy of the namespace, have a
// read-only root file system, and set requests and limits.
func TestPods_Confined(t *testing.T) {
	c := load(t)
	if got := c.namespace.Labels["pod-security.kubernetes.io/enforce"]; got != "restricted" {
		t.Errorf("the namespace enforces %q, want restricted", got)
	}
	for name, spec := range c.pods() {
		fault := func(ok bool, what string) {
			if !ok {
				t.Errorf("%s: %s", name, what)
			}
		}
		s := spec.SecurityContext
		fault(s != nil && yes(s.RunAsNonRoot), "runAsNonRoot must be true")
		fault(s != nil && s.RunAsUser != nil && *s.RunAsUser == 65532, "runAsUser must be the image's user")
		fault(s != nil && s.SeccompProfile != nil && s.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault, "seccompProfile must be RuntimeDefault")
		fault(no(spec.AutomountServiceAccountToken), "automountServiceAccountToken must be false")
		fault(no(spec.EnableServiceLinks), "enableServiceLinks must be false: it makes variables COREHOUR_*")
		for _, container := range spec.Containers {
			s := container.SecurityContext
			fault(s != nil && yes(s.ReadOnlyRootFilesystem), "readOnlyRootFilesystem must be true")
			fault(s != nil && no(s.AllowPrivilegeEscalation), "allowPrivilegeEscalation must be false")
			fault(s != nil && s.Capabilities != nil && slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}), "all capabilities must be dropped")
			fault(!container.Resources.Requests.Cpu().IsZero(), "a CPU request is missing")
			fault(!container.Resources.Requests.Memory().IsZero(), "a memory request is missing")
			fault(!container.Resources.Limits.Memory().IsZero(), "a memory limit is missing")
			for _, mount := range container.VolumeMounts {
				fault(c.hasVolume(name, mount.Name), fmt.Sprintf("volume %s is mounted and not defined", mount.Name))
			}
		}
	}
}

func (c *cluster) hasVolume(pod, volume string) bool {
	for _, v := range c.pods()[pod].Volumes {
		if v.Name == volume {
			return true
		}
	}
	for _, v := range c.collector.Spec.VolumeClaimTemplates {
		if pod == "collector" && v.Name == volume {
			return true
		}
	}
	return false
}

// TestManifests_NamesMatch checks that references between objects (labels, ports, names) resolve.
func TestManifests_NamesMatch(t *testing.T) {
	c := load(t)
	labels := c.collector.Spec.Template.Labels
	for what, selector := range map[string]map[string]string{
		"the StatefulSet": c.collector.Spec.Selector.MatchLabels,
		"the Service":     c.service.Spec.Selector,
		"the CronJob's affinity": c.regress.Spec.JobTemplate.Spec.Template.Spec.Affinity.PodAffinity.
			RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector.MatchLabels,
	} {
		if len(selector) == 0 {
			t.Errorf("%s selects everything", what)
		}
		for key, value := range selector {
			if labels[key] != value {
				t.Errorf("%s selects %s=%s, the collector has %q", what, key, value, labels[key])
			}
		}
	}
	ports := make(map[string]int32)
	for _, port := range c.collector.Spec.Template.Spec.Containers[0].Ports {
		ports[port.Name] = port.ContainerPort
	}
	for _, port := range c.service.Spec.Ports {
		if ports[port.TargetPort.StrVal] != port.Port {
			t.Errorf("the Service's port %s (%d) is %d in the container", port.Name, port.Port, ports[port.TargetPort.StrVal])
		}
	}
	for _, policy := range c.policies {
		for _, rule := range policy.Spec.Ingress {
			for _, port := range rule.Ports {
				if _, ok := ports[port.Port.StrVal]; !ok {
					t.Errorf("NetworkPolicy %s names the port %s, which the container does not have", policy.Name, port.Port)
				}
			}
		}
	}
	if want, got := c.collector.Spec.ServiceName, c.service.Name; want != got {
		t.Errorf("the StatefulSet's service is %s, the Service is %s", want, got)
	}
	claim := fmt.Sprintf("%s-%s-0", c.collector.Spec.VolumeClaimTemplates[0].Name, c.collector.Name)
	for _, volume := range c.regress.Spec.JobTemplate.Spec.Template.Spec.Volumes {
		if v := volume.PersistentVolumeClaim; v != nil && v.ClaimName != map[bool]string{true: claim, false: c.state.Name}[v.ReadOnly] {
			t.Errorf("the CronJob mounts the claim %s, the collector's is %s and that of its state %s", v.ClaimName, claim, c.state.Name)
		}
	}
	for _, volume := range c.collector.Spec.Template.Spec.Volumes {
		if m := volume.ConfigMap; m != nil && m.Name != c.config.Name {
			t.Errorf("the collector mounts the ConfigMap %s, it is called %s", m.Name, c.config.Name)
		}
	}
	for _, name := range []string{c.config.Namespace, c.service.Namespace, c.collector.Namespace, c.regress.Namespace, c.state.Namespace} {
		if name != c.namespace.Name {
			t.Errorf("an object lies in namespace %q, not %q", name, c.namespace.Name)
		}
	}
}

// TestPods_LimiterBelowMemoryLimit checks that the collector's own memory limit is at most 90% of the
// container's limit.
func TestPods_LimiterBelowMemoryLimit(t *testing.T) {
	container := load(t).collector.Spec.Template.Spec.Containers[0]
	limit := container.Resources.Limits.Memory().Value()
	for _, env := range container.Env {
		if env.Name == "COREHOUR_MEMORY_LIMIT_MIB" {
			var mib int64
			if _, err := fmt.Sscan(env.Value, &mib); err != nil || mib<<20 > limit*9/10 {
				t.Errorf("%s is %s MiB, the container's limit %d MiB: want a tenth of room", env.Name, env.Value, limit>>20)
			}
			return
		}
	}
	t.Error("the container sets no COREHOUR_MEMORY_LIMIT_MIB")
}

// TestPods_Commands checks that every container runs a command of this repository with existing flags.
func TestPods_Commands(t *testing.T) {
	for name, spec := range load(t).pods() {
		container := spec.Containers[0]
		words := container.Args
		if len(container.Command) > 0 { // a shell: check the first line of its script
			first := strings.SplitN(container.Args[0], "\n", 2)[0]
			words = strings.Fields(strings.NewReplacer("${WEBHOOK:+", "", "}", "").Replace(first)) // as if it is set
		} else {
			words = append([]string{container.Image}, words...) // the image's entry point
		}
		checkCommand(t, name, words)
	}
}

// TestManifests_VariablesRead checks that the configuration reads every COREHOUR_ variable of the container.
func TestManifests_VariablesRead(t *testing.T) {
	for _, env := range load(t).collector.Spec.Template.Spec.Containers[0].Env {
		if strings.HasPrefix(env.Name, "COREHOUR_") && !strings.Contains(collectorConfig, "${env:"+env.Name+":-") {
			t.Errorf("the container sets %s, which config/collector.yaml does not read", env.Name)
		}
	}
}

func yes(b *bool) bool { return b != nil && *b }
func no(b *bool) bool  { return b != nil && !*b }
