// Package tokenfile is an authenticator for servers: it accepts requests with a bearer token of a file.
//
// Its invariant: a token that was removed from the file is refused within the time of two reads, however
// the file was replaced. The file is read again and again rather than watched, because a watch ends when the
// file's name is removed. Without a readable file all requests are refused after a grace period.
//
// It passes no identity on: no token is bound to a service.
package tokenfile

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensionauth"
	"go.uber.org/zap"

	"github.com/corehour/corehour/internal/configfile"
)

const (
	// interval is the time between two reads of the file.
	interval = time.Second
	// grace is how long the last tokens are accepted while the file is missing, unreadable or empty: it may
	// be being replaced.
	grace = 10 * time.Second
)

// Config is the configuration of the extension.
type Config struct {
	// Filename is the file of the accepted tokens, one a line. What follows a token is a comment.
	Filename string `mapstructure:"filename"`
}

// Validate returns an error without a file.
func (c *Config) Validate() error {
	if c.Filename == "" {
		return errors.New("`filename` must name the file of tokens, found nothing")
	}
	return nil
}

// NewFactory returns the factory of extensions of type token_file.
func NewFactory() extension.Factory {
	return extension.NewFactory(component.MustNewType("token_file"), func() component.Config { return &Config{} },
		func(_ context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
			return newTokenFile(cfg.(*Config).Filename, set.Logger), nil
		}, component.StabilityLevelAlpha)
}

var _ extensionauth.Server = (*tokenFile)(nil)

type tokenFile struct {
	source configfile.Source[[]digest]
	logger *zap.Logger
	tokens atomic.Pointer[[]digest]
	stop   context.CancelFunc
	loop   sync.WaitGroup

	// next is the content that was read last, if it is not in force. good is the time of the last read of a
	// file with tokens.
	next []digest
	good time.Time
}

// digest is the SHA-256 of a token. Comparing digests takes no time that depends on the token.
type digest [sha256.Size]byte

func newTokenFile(path string, logger *zap.Logger) *tokenFile {
	return &tokenFile{logger: logger, stop: func() {},
		source: configfile.Source[[]digest]{Key: "filename", Path: path, Parse: parse}}
}

func parse(data []byte) ([]digest, []configfile.Warning, error) {
	var tokens []digest
	for line := range strings.Lines(string(data)) {
		if words := strings.Fields(line); len(words) > 0 {
			tokens = append(tokens, sha256.Sum256([]byte(words[0])))
		}
	}
	if len(tokens) == 0 {
		return nil, nil, errors.New("it must contain a token, found none")
	}
	return tokens, nil, nil
}

// Start reads the file and begins to follow it. It fails without a token.
func (f *tokenFile) Start(context.Context, component.Host) error {
	tokens, _, err := f.source.Load()
	if err != nil {
		return err
	}
	f.tokens.Store(&tokens)
	f.next, f.good = tokens, time.Now()
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	f.loop.Go(func() { f.follow(ctx) })
	return nil
}

// Shutdown stops following the file.
func (f *tokenFile) Shutdown(context.Context) error {
	f.stop()
	f.loop.Wait()
	return nil
}

func (f *tokenFile) follow(ctx context.Context) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.reload()
		}
	}
}

// reload reads the file. New content is in force once two reads give the same: the file may still be being
// written.
func (f *tokenFile) reload() {
	current := *f.tokens.Load()
	tokens, _, err := f.source.Load()
	if err != nil {
		if len(current) > 0 && time.Since(f.good) >= grace {
			f.tokens.Store(new([]digest))
			f.next = nil
			f.logger.Error("The file of tokens can't be used: all requests are refused until it can.", zap.Duration("grace", grace), zap.Error(err))
		}
		return
	}
	f.good = time.Now()
	stable := slices.Equal(tokens, f.next)
	f.next = tokens
	if stable && !slices.Equal(tokens, current) {
		f.tokens.Store(&tokens)
		f.logger.Info("The file of tokens was read again.", zap.String("filename", f.source.Path), zap.Int("tokens", len(tokens)))
	}
}

var errRefused = errors.New("the request has no valid bearer token")

// Authenticate returns an error for a request without a token of the file.
func (f *tokenFile) Authenticate(ctx context.Context, headers map[string][]string) (context.Context, error) {
	values := headers["Authorization"]
	if len(values) == 0 {
		for name, v := range headers { // gRPC has lower-case names
			if http.CanonicalHeaderKey(name) == "Authorization" {
				values = v
			}
		}
	}
	if len(values) > 0 {
		if token, ok := strings.CutPrefix(values[0], "Bearer "); ok && slices.Contains(*f.tokens.Load(), sha256.Sum256([]byte(token))) {
			return ctx, nil
		}
	}
	return ctx, errRefused
}
