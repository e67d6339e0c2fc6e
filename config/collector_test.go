package config

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binary is the distribution, built once for all tests.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "corehour-config")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "corehour-collector")
	build := exec.Command("go", "build", "-o", path, "../cmd/corehour-collector")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the collector: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	path, err := binary() // before the deadlines of tests begin
	code := m.Run()
	if err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// command prepares the collector with one of our files, in an empty directory and with only the given
// variables in its environment.
func command(t *testing.T, ctx context.Context, dir, file string, env map[string]string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, path, append(args, "--config=file:"+abs)...)
	cmd.Dir = dir
	cmd.Env = []string{} // nil would inherit the test's environment
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// collector is a running collector.
type collector struct {
	dir    string
	http   string // its address for OTLP over HTTP
	grpc   string
	health string
	rates  string
	jaeger string
	metric string
	log    *lockedBuffer
	cmd    *exec.Cmd
	ended  chan struct{}
}

// start runs the collector until the test ends, and waits until it reports that it is ready.
func start(t *testing.T, file string, env map[string]string, args ...string) *collector {
	t.Helper()
	ports := freePorts(t, 6)
	c := &collector{dir: t.TempDir(), http: ports[0], grpc: ports[1], health: ports[2], metric: ports[3], rates: ports[4], jaeger: ports[5],
		log: &lockedBuffer{}, ended: make(chan struct{})}
	all := map[string]string{
		"COREHOUR_HTTP_ENDPOINT":   c.http,
		"COREHOUR_GRPC_ENDPOINT":   c.grpc,
		"COREHOUR_HEALTH_ENDPOINT": c.health,
		"COREHOUR_RATES_ADDRESS":   c.rates,
		"COREHOUR_JAEGER_ADDRESS":  c.jaeger,
	}
	_, all["COREHOUR_METRICS_PORT"], _ = net.SplitHostPort(c.metric)
	for name, value := range env {
		all[name] = value
	}
	c.cmd = command(t, context.Background(), c.dir, file, all, args...)
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = c.cmd.Wait(); close(c.ended) }()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.ended
		if t.Failed() {
			t.Logf("log of the collector with %s:\n%s", file, c.log)
		}
	})
	eventually(t, "the collector with "+file+" is ready", func() error {
		select {
		case <-c.ended:
			t.Fatalf("the collector ended:\n%s", c.log)
		default:
		}
		_, err := get("http://" + c.health + "/")
		return err
	})
	// The collector handles SIGTERM only some time after it logs that it is ready (otelcol,
	// Collector.Run), and no event reports when; before, the signal kills it.
	time.Sleep(signalsHeard)
	return c
}

const signalsHeard = 300 * time.Millisecond

// stop sends SIGTERM and checks the exit code.
func (c *collector) stop(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.ended:
	case <-time.After(30 * time.Second):
		t.Fatal("the collector does not end")
	}
	if code := c.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the collector ended with status %d", code)
	}
}

// eventually waits for another process, which no fake clock can drive.
func eventually(t *testing.T, what string, attempt func() error) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := attempt()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not true after 30 s: %s: %v", what, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func get(url string) (string, error) {
	response, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, response.Status)
	}
	return string(body), err
}

func post(url, body string) error {
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, response.Status, answer)
	}
	return err
}

// freePorts returns addresses on which nobody listens.
func freePorts(t *testing.T, n int) []string {
	t.Helper()
	addresses := make([]string, n)
	for i := range addresses {
		listener, err := net.Listen("tcp", "localhost:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		addresses[i] = fmt.Sprintf("localhost:%d", listener.Addr().(*net.TCPAddr).Port)
	}
	return addresses
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
