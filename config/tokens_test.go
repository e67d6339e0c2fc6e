package config

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.yaml.in/yaml/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestTokens_RequiredAtEveryPort: every port requires a token of the current file, and no log contains a token.
func TestTokens_RequiredAtEveryPort(t *testing.T) {
	keys := makeKeys(t)
	tokens := filepath.Join(t.TempDir(), "tokens")
	write(t, tokens, "t0ken-of-shop # for the shop\n\n  t0ken-of-cart\n")
	c := start(t, "tokens.yaml", map[string]string{
		"COREHOUR_TLS_CERT": keys.cert, "COREHOUR_TLS_KEY": keys.key, "COREHOUR_TOKENS": tokens,
		"COREHOUR_LOG_LEVEL": "debug",
	})
	who := func(authorization string) caller {
		return caller{service: "shop", tls: &tls.Config{RootCAs: keys.pool}, authorization: authorization}
	}
	accepts := func(token string) {
		t.Helper()
		for _, d := range endpoints {
			eventually(t, d.name+" answers", func() error { return d.ask(t.Context(), c, who("Bearer "+token)) })
		}
	}
	refuses := func(authorization string) {
		t.Helper()
		for _, d := range endpoints {
			stranger := who(authorization)
			stranger.service = "stranger"
			err := d.ask(t.Context(), c, stranger)
			answer, _ := errors.AsType[*answerError](err)
			if d.grpc && status.Code(err) != codes.Unauthenticated || !d.grpc && (answer == nil || answer.code != http.StatusUnauthorized) {
				t.Errorf("%s with %q: %v, want a refusal", d.name, authorization, err)
			}
		}
	}
	accepts("t0ken-of-shop")
	accepts("t0ken-of-cart")
	for _, wrong := range []string{"", "Bearer", "Bearer ", "Bearer t0ken-of-", "Bearer t0ken-of-cart2", "Basic t0ken-of-cart",
		"t0ken-of-cart", "Bearer #", "Bearer for", "Bearer t0ken-of-shop # for the shop"} {
		refuses(wrong)
	}

	// Another file is renamed over it, as for a mounted Secret.
	write(t, tokens+".new", "t0ken-of-cart\nt0ken-of-bill\n")
	if err := os.Rename(tokens+".new", tokens); err != nil {
		t.Fatal(err)
	}
	accepts("t0ken-of-bill")
	accepts("t0ken-of-cart")
	refuses("Bearer t0ken-of-shop")

	// The file is written to, twice: it is still watched.
	write(t, tokens, "t0ken-of-shop\n")
	accepts("t0ken-of-shop")
	refuses("Bearer t0ken-of-bill")
	write(t, tokens, "t0ken-of-bill\n")
	accepts("t0ken-of-bill")
	refuses("Bearer t0ken-of-shop")

	// The old file is moved or removed first.
	if err := os.Rename(tokens, tokens+".old"); err != nil {
		t.Fatal(err)
	}
	write(t, tokens, "t0ken-of-shop\n")
	accepts("t0ken-of-shop")
	refuses("Bearer t0ken-of-bill")
	if err := os.Remove(tokens); err != nil {
		t.Fatal(err)
	}
	write(t, tokens, "t0ken-of-bill\n")
	accepts("t0ken-of-bill")
	refuses("Bearer t0ken-of-shop")

	// An empty file opens no port, and closes all after a while.
	for name, spoil := range map[string]func(){"empty": func() { write(t, tokens, "") }, "missing": func() { _ = os.Remove(tokens) }} {
		before := len(c.log.String())
		spoil()
		accepts("t0ken-of-bill") // it may be being replaced
		eventually(t, "an error says that the file is "+name, func() error {
			if !strings.Contains(c.log.String()[before:], "all requests are refused") {
				return errors.New("there is none")
			}
			return nil
		})
		for _, authorization := range []string{"", "Bearer ", "Bearer t0ken-of-bill"} {
			refuses(authorization)
		}
		write(t, tokens, "t0ken-of-bill\n")
		accepts("t0ken-of-bill")
	}

	c.stop(t)
	rows := storedRows(t, filepath.Join(c.dir, "corehour-warehouse"))
	if len(rows) < 2 || slices.ContainsFunc(rows, func(row string) bool { return row != "shop test.f" }) {
		t.Errorf("stored %q, want calls of shop alone", rows)
	}
	if !strings.Contains(c.log.String(), "\tdebug\t") {
		t.Error("the log has no line of level debug")
	}
	for line := range strings.Lines(c.log.String()) {
		if strings.Contains(line, "t0ken") {
			t.Errorf("the log has a token: %s", line)
		}
	}
}

// TestTokens_FileMissingOrEmpty: without a file of tokens, or without a token in it, the collector does not start, and
// the error names the file.
func TestTokens_FileMissingOrEmpty(t *testing.T) {
	keys := makeKeys(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "empty"), " \n\t\n")
	for file, want := range map[string]string{"empty": "must contain a token", "missing": "found no such file"} {
		path := filepath.Join(dir, file)
		ports := freePorts(t, 6)
		ctx, cancel := context.WithTimeout(t.Context(), 2*patience) // for a collector that starts
		defer cancel()
		out, err := command(t, ctx, t.TempDir(), "tokens.yaml", map[string]string{
			"COREHOUR_TLS_CERT": keys.cert, "COREHOUR_TLS_KEY": keys.key, "COREHOUR_TOKENS": path,
			"COREHOUR_HTTP_ENDPOINT": ports[0], "COREHOUR_GRPC_ENDPOINT": ports[1], "COREHOUR_RATES_ADDRESS": ports[2],
			"COREHOUR_JAEGER_ADDRESS": ports[3], "COREHOUR_HEALTH_ENDPOINT": ports[4], "COREHOUR_METRICS_PORT": portOf(ports[5]),
		}).CombinedOutput()
		var status *exec.ExitError
		if !errors.As(err, &status) || ctx.Err() != nil || !strings.Contains(string(out), path) || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
}

// TestTokens_CheckedBeforeDecoding: over gRPC, too, the sender is authenticated before a request is decoded. This one
// would be refused as too large.
func TestTokens_CheckedBeforeDecoding(t *testing.T) {
	keys := makeKeys(t)
	tokens := filepath.Join(t.TempDir(), "tokens")
	write(t, tokens, "t0ken")
	c := start(t, "tokens.yaml", map[string]string{"COREHOUR_TLS_CERT": keys.cert, "COREHOUR_TLS_KEY": keys.key, "COREHOUR_TOKENS": tokens},
		"--set=receivers.method_spans.limits.decoding_mib=16")
	traces := ptrace.NewTraces()
	for range 200_000 {
		traces.ResourceSpans().AppendEmpty()
	}
	for authorization, want := range map[string]codes.Code{"Bearer t0ken": codes.InvalidArgument, "Bearer t0ken2": codes.Unauthenticated, "": codes.Unauthenticated} {
		by := caller{tls: &tls.Config{RootCAs: keys.pool}, authorization: authorization}
		err := by.grpc(t.Context(), c.grpc, func(ctx context.Context, conn *grpc.ClientConn) error {
			_, err := ptraceotlp.NewGRPCClient(conn).Export(ctx, ptraceotlp.NewExportRequestFromTraces(traces))
			return err
		})
		if status.Code(err) != want {
			t.Errorf("with %q: %v, want %v", authorization, err, want)
		}
	}
}

// TestTokens_EqualToGateway keeps the two files equal: apart from authentication, tokens.yaml is gateway.yaml.
func TestTokens_EqualToGateway(t *testing.T) {
	parsed := func(text string) map[string]any {
		var all map[string]any
		if err := yaml.Unmarshal([]byte(text), &all); err != nil {
			t.Fatal(err)
		}
		at := func(keys ...string) map[string]any {
			m := all
			for _, key := range keys {
				m = m[key].(map[string]any)
			}
			return m
		}
		for _, server := range []map[string]any{at("receivers", "method_spans", "protocols", "grpc"), at("receivers", "method_spans", "protocols", "http"), at("extensions", "sampling_rates")} {
			delete(server, "auth")
			delete(server["tls"].(map[string]any), "client_ca_file")
			delete(server["tls"].(map[string]any), "client_ca_file_reload")
		}
		delete(at("extensions"), "token_file")
		service := at("service")
		service["extensions"] = slices.DeleteFunc(service["extensions"].([]any), func(e any) bool { return e == "token_file" })
		return all
	}
	if tokens, gateway := parsed(Tokens), parsed(Gateway); !reflect.DeepEqual(tokens, gateway) {
		t.Errorf("tokens.yaml is\n%v\ngateway.yaml is\n%v", tokens, gateway)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }
