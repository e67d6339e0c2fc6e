package buckets

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsouza/fake-gcs-server/fakestorage"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
)

// place is the object store of one test.
type place struct {
	address string
	missing string // address of a bucket that does not exist
	// put and has access objects without the protocol, by their keys below the path.
	put func(key string, data []byte) error
	has func(key string) bool
	// faults is nil where no protocol is between the test and the store.
	faults *faults
}

// faults injects faults into requests.
type faults struct {
	next http.Handler
	// loseEvery: one of so many requests that change something is carried out and its answer is
	// dropped.
	loseEvery atomic.Int64
	requests  atomic.Int64
	lost      atomic.Int64
	// forget makes the store ignore conditional writes.
	forget atomic.Bool
	// race makes the store check first and write later: two requests that create an object at the
	// same time both succeed.
	race atomic.Bool
	mu   sync.Mutex
	// alone are requests that have checked, by the object that they create.
	alone map[string]chan struct{}
	// conflict makes the store answer 409 to a request that creates an existing object.
	conflict atomic.Bool
	// deny makes the store refuse all requests that change something.
	deny atomic.Bool
	// reply, if not nil, is the answer to all requests.
	reply atomic.Pointer[reply]
}

// reply is a refusal. code is S3's error code, empty for Cloud Storage.
type reply struct {
	status int
	code   string
}

func (r *reply) write(w http.ResponseWriter) {
	w.WriteHeader(r.status)
	if r.code == "" {
		fmt.Fprintf(w, `{"error":{"code":%d,"message":"no"}}`, r.status)
		return
	}
	fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>no</Message></Error>`, r.code)
}

func (f *faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	changes := r.Method == http.MethodPut || r.Method == http.MethodPost || r.Method == http.MethodDelete
	if r := f.reply.Load(); r != nil {
		r.write(w)
		return
	}
	if f.deny.Load() && changes {
		(&reply{http.StatusForbidden, "AccessDenied"}).write(w)
		return
	}
	if f.forget.Load() || f.race.Load() && conditional(r) && f.paired(r.URL.Path+r.URL.Query().Get("name")) {
		r.Header.Del("If-None-Match")
		q := r.URL.Query()
		q.Del("ifGenerationMatch")
		r.URL.RawQuery = q.Encode()
	}
	if f.conflict.Load() && conditional(r) {
		c := &conflicting{ResponseWriter: w}
		if r.Header.Get("If-None-Match") != "" {
			c.code = "ConditionalRequestConflict"
		}
		f.next.ServeHTTP(c, r)
		return
	}
	if n := f.loseEvery.Load(); n > 0 && changes && f.requests.Add(1)%n == 0 {
		f.next.ServeHTTP(httptest.NewRecorder(), r)
		f.lost.Add(1)
		panic(http.ErrAbortHandler) // the connection ends without an answer
	}
	f.next.ServeHTTP(w, r)
}

func conditional(r *http.Request) bool {
	return r.Header.Get("If-None-Match") != "" || r.URL.Query().Has("ifGenerationMatch")
}

// paired waits for another request that creates the same object, and reports whether one came.
func (f *faults) paired(object string) bool {
	f.mu.Lock()
	if other := f.alone[object]; other != nil {
		delete(f.alone, object)
		f.mu.Unlock()
		close(other)
		return true
	}
	me := make(chan struct{})
	if f.alone == nil {
		f.alone = map[string]chan struct{}{}
	}
	f.alone[object] = me
	f.mu.Unlock()
	select {
	case <-me:
		return true
	case <-time.After(300 * time.Millisecond):
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	paired := f.alone[object] != me
	delete(f.alone, object)
	return paired
}

// conflicting answers 409 instead of 412.
type conflicting struct {
	http.ResponseWriter
	code     string // S3's error code
	replaced bool
}

func (c *conflicting) WriteHeader(status int) {
	if c.replaced = status == http.StatusPreconditionFailed; c.replaced {
		c.Header().Del("Content-Length")
		(&reply{http.StatusConflict, c.code}).write(c.ResponseWriter)
		return
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *conflicting) Write(data []byte) (int, error) {
	if c.replaced {
		return len(data), nil
	}
	return c.ResponseWriter.Write(data)
}

// places are the stores that the suite runs over.
var places = map[string]func(*testing.T) *place{
	"directory": func(t *testing.T) *place {
		dir := t.TempDir()
		return &place{
			address: "file://" + dir, missing: "file://" + dir + "/missing",
			put: func(key string, data []byte) error {
				path := filepath.Join(dir, filepath.FromSlash(key))
				return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644))
			},
			has: func(key string) bool {
				_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(key)))
				return err == nil
			},
		}
	},
	"s3": func(t *testing.T) *place {
		t.Setenv("AWS_ACCESS_KEY_ID", "key")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
		t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
		backend := s3mem.New()
		require.NoError(t, backend.CreateBucket("warehouses"))
		f := &faults{next: gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()}
		server := httptest.NewServer(f)
		t.Cleanup(server.Close)
		options := "?region=eu-central-1&use_path_style=true&endpoint=" + url.QueryEscape(server.URL)
		return &place{
			address: "s3://warehouses/team-a/prod" + options, missing: "s3://nowhere" + options, faults: f,
			put: func(key string, data []byte) error {
				if _, err := backend.DeleteObject("warehouses", "team-a/prod/"+key); err != nil {
					return err
				}
				_, err := backend.PutObject("warehouses", "team-a/prod/"+key, map[string]string{}, bytes.NewReader(data), int64(len(data)), nil)
				return err
			},
			has: func(key string) bool {
				_, err := backend.HeadObject("warehouses", "team-a/prod/"+key)
				return err == nil
			},
		}
	},
	"gcs": func(t *testing.T) *place {
		f := &faults{}
		server := httptest.NewServer(f)
		t.Cleanup(server.Close)
		fake, err := fakestorage.NewServerWithOptions(fakestorage.Options{
			NoListener: true, ExternalURL: server.URL, PublicHost: strings.TrimPrefix(server.URL, "http://"),
		})
		require.NoError(t, err)
		fake.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: "warehouses"})
		f.next = fake.HTTPHandler()
		options := "?endpoint=" + url.QueryEscape(server.URL+"/storage/v1/")
		return &place{
			address: "gs://warehouses/team-a/prod" + options, missing: "gs://nowhere" + options, faults: f,
			put: func(key string, data []byte) error {
				fake.CreateObject(fakestorage.Object{ObjectAttrs: fakestorage.ObjectAttrs{BucketName: "warehouses", Name: "team-a/prod/" + key}, Content: data})
				return nil
			},
			has: func(key string) bool { _, err := fake.GetObject("warehouses", "team-a/prod/"+key); return err == nil },
		}
	},
}

// overAllStores runs a test over all stores.
func overAllStores(t *testing.T, test func(t *testing.T, p *place)) {
	for _, name := range []string{"directory", "s3", "gcs"} {
		t.Run(name, func(t *testing.T) { test(t, places[name](t)) })
	}
}

// overProtocols runs a test over all stores but the directory.
func overProtocols(t *testing.T, test func(t *testing.T, p *place)) {
	for _, name := range []string{"s3", "gcs"} {
		t.Run(name, func(t *testing.T) { test(t, places[name](t)) })
	}
}

func TestMain(m *testing.M) {
	// No test uses credentials of the machine it runs on.
	os.Unsetenv("GOOGLE_APPLICATION_CREDENTIALS")
	os.Unsetenv("STORAGE_EMULATOR_HOST")
	os.Exit(m.Run())
}
