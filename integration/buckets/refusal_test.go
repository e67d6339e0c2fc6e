package buckets

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/warehouse/bucket"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// noRegion and noCredentials remove region and credentials from the environment, from files and
// from metadata servers.
func noRegion(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
}

func noCredentials(t *testing.T) {
	noRegion(t)
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

// begin opens a bucket and takes a prefix in it.
func begin(ctx context.Context, t *testing.T, address string) error {
	t.Helper()
	b, err := bucket.Open(ctx, address)
	if err != nil {
		return err
	}
	defer b.Close()
	m, err := bucket.NewMirror(ctx, b, options(address, "host", t.TempDir()))
	if err != nil {
		_, perr := b.Prefixes(ctx)
		assert.Equal(t, err != nil, perr != nil, "a reader gets the same error")
		return err
	}
	return m.Close()
}

func TestAddress_Incomplete(t *testing.T) {
	for name, c := range map[string]struct{ address, want string }{
		"region":  {"s3://warehouses", "no region: add it to the address, s3://warehouses?region=eu-central-1, or set AWS_REGION"},
		"option":  {"s3://warehouses?region=eu-central-1&regoin=x", `unknown query parameter "regoin"`},
		"profile": {"s3://warehouses?region=eu-central-1&profile=nobody", "failed to get shared config profile, nobody"},
		"emulate": {"gs://warehouses?end=x", `unknown option "end"`},
	} {
		t.Run(name, func(t *testing.T) {
			noCredentials(t)
			_, err := bucket.Open(t.Context(), c.address)
			require.ErrorIs(t, err, bucket.ErrRefused)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func TestStore_NoCredentials(t *testing.T) {
	p := places["s3"](t)
	noCredentials(t)
	err := begin(t.Context(), t, p.address)
	require.ErrorIs(t, err, bucket.ErrRefused)
	assert.ErrorContains(t, err, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")

	// The server of the credentials does not answer, which can be temporary.
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/credentials")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err = begin(ctx, t, p.address)
	require.Error(t, err)
	require.NotErrorIs(t, err, bucket.ErrRefused)

	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", t.TempDir()+"/none")
	_, err = bucket.Open(t.Context(), "gs://warehouses")
	require.ErrorIs(t, err, bucket.ErrRefused)
	assert.ErrorContains(t, err, "set GOOGLE_APPLICATION_CREDENTIALS")
}

// A command does not wait long for a store that hangs. Its error names the store and promises no
// retry that the command does not make.
func TestStore_Hangs(t *testing.T) {
	ends := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-ends }))
	defer s.Close()
	defer close(ends)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	var both sync.WaitGroup
	for _, address := range []string{
		"s3://warehouses/prod?region=eu-central-1&use_path_style=true&endpoint=" + url.QueryEscape(s.URL),
		"gs://warehouses/prod?endpoint=" + url.QueryEscape(s.URL+"/storage/v1/"),
	} {
		both.Go(func() {
			b, err := bucket.Open(t.Context(), address)
			if !assert.NoError(t, err) {
				return
			}
			_, err = b.Prefixes(t.Context())
			assert.ErrorContains(t, err, `"`+b.String()+`/": no answer within 10s`)
			assert.ErrorContains(t, err, "check that it can be reached")
			assert.NotContains(t, err.Error(), "again")
			assert.NoError(t, b.Close())
		})
	}
	both.Wait()
}

// Warnings of the S3 client go to the collector's log, not to standard error.
func TestStore_WarningsOfTheClient(t *testing.T) {
	p := places["s3"](t)
	read, write, err := os.Pipe()
	require.NoError(t, err)
	stderr := os.Stderr
	os.Stderr = write
	defer func() { os.Stderr = stderr }()
	o := options(p.address, "host", t.TempDir())
	var mu sync.Mutex
	var warned []string
	o.Warn = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		warned = append(warned, text)
	}
	for _, prefix := range []string{"host", "other"} { // past the client, so without a checksum
		require.NoError(t, p.put(prefix+"/_commit/000000000001.json", []byte(`{"schema_version":1,"number":1,"owner":"x","session":"y","released":true}`)))
	}
	w, err := bucket.NewWriter(t.Context(), o, table.Options{})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	b, err := bucket.Open(t.Context(), p.address) // as a command does
	require.NoError(t, err)
	_, err = b.Store("other").InUse(t.Context())
	require.NoError(t, err)
	require.NoError(t, b.Close())
	require.NoError(t, write.Close())
	printed, err := io.ReadAll(read)
	require.NoError(t, err)
	assert.Empty(t, string(printed))
	require.NotEmpty(t, warned)
	assert.Contains(t, warned[0], "The S3 client warns: Response has no supported checksum")
}

// TestStore_Answers checks which answers are permanent, which are temporary, and the hint of each.
func TestStore_Answers(t *testing.T) {
	for _, c := range []struct {
		place  string
		status int
		code   string
		want   string // part of the hint; empty if a retry can help
	}{
		{"s3", http.StatusForbidden, "AccessDenied", "the right to list, read, create and delete"},
		{"s3", http.StatusForbidden, "InvalidAccessKeyId", "renew them"},
		{"s3", http.StatusForbidden, "SignatureDoesNotMatch", "renew them"},
		{"s3", http.StatusBadRequest, "ExpiredToken", "renew them"},
		{"s3", http.StatusForbidden, "RequestTimeTooSkewed", "set the clock"},
		{"s3", http.StatusMovedPermanently, "PermanentRedirect", "`region`"},
		{"s3", http.StatusBadRequest, "AuthorizationHeaderMalformed", "`region`"},
		{"s3", http.StatusNotFound, "NoSuchBucket", "check that the bucket exists"},
		{"s3", http.StatusNotImplemented, "NotImplemented", "check the address"},
		{"s3", http.StatusBadRequest, "RequestTimeout", ""},
		{"s3", http.StatusServiceUnavailable, "SlowDown", ""},
		{"s3", http.StatusInternalServerError, "InternalError", ""},
		{"gcs", http.StatusUnauthorized, "", "renew them"},
		{"gcs", http.StatusForbidden, "", "check that the bucket exists"},
		{"gcs", http.StatusNotFound, "", "check that the bucket exists"},
		{"gcs", http.StatusBadRequest, "", "check the address"},
		{"gcs", http.StatusTooManyRequests, "", ""},
		{"gcs", http.StatusServiceUnavailable, "", ""},
	} {
		t.Run(c.place+" "+http.StatusText(c.status)+" "+c.code, func(t *testing.T) {
			p := places[c.place](t)
			p.faults.reply.Store(&reply{c.status, c.code})
			ctx := t.Context()
			if c.want == "" {
				// The clients retry temporary answers as well.
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 500*time.Millisecond)
				defer cancel()
			}
			err := begin(ctx, t, p.address)
			require.Error(t, err)
			if c.want == "" {
				require.NotErrorIs(t, err, bucket.ErrRefused)
				return
			}
			require.ErrorIs(t, err, bucket.ErrRefused)
			assert.ErrorContains(t, err, c.want)
		})
	}
}
