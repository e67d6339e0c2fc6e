package bucket

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/blob/s3blob"
	"gocloud.dev/gcp"
	"google.golang.org/api/option"
)

// Bucket is an object store that holds the prefixes of any number of collectors.
type Bucket struct {
	location
	blobs  *blob.Bucket
	inject Injector
}

// Injector is asked before and after every request, for tests: op is create, read,
// list or remove. An error before a request takes its place; one after it hides
// that it took effect.
type Injector func(op, key string, after bool) error

// Inject puts faults into all requests from now on.
func (b *Bucket) Inject(i Injector) { b.inject = i }

// Open prepares requests to a bucket, and makes none.
func Open(ctx context.Context, address string) (*Bucket, error) {
	l, err := parse(address)
	if err != nil {
		return nil, err
	}
	b := &Bucket{location: *l}
	switch l.scheme {
	case schemeGCS:
		b.blobs, err = openGCS(ctx, l)
	case schemeS3:
		u := &url.URL{Scheme: schemeS3, Host: l.name, RawQuery: l.query.Encode()}
		b.blobs, err = new(s3blob.URLOpener).OpenBucketURL(ctx, u)
	case schemeFile:
		// What a file holds is all there is to it, so no second one describes it.
		b.blobs, err = fileblob.OpenBucket(l.name, &fileblob.Options{Metadata: fileblob.MetadataDontWrite, NoTempDir: true})
		if os.IsNotExist(err) {
			err = fmt.Errorf("%w (create the directory first)", err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", l, err)
	}
	return b, nil
}

// openGCS takes the credentials of the environment; an endpoint given as http:// is
// an emulator and gets none.
func openGCS(ctx context.Context, l *location) (*blob.Bucket, error) {
	endpoint := l.query.Get("endpoint")
	for name := range l.query {
		if name != "endpoint" {
			return nil, fmt.Errorf("unknown option %q: there is endpoint, for emulators", name)
		}
	}
	if endpoint != "" {
		options := &gcsblob.Options{ClientOptions: []option.ClientOption{option.WithEndpoint(endpoint)}}
		return gcsblob.OpenBucket(ctx, gcp.NewAnonymousHTTPClient(http.DefaultTransport), l.name, options)
	}
	// The token source outlives the call.
	credentials, err := gcp.DefaultCredentials(context.WithoutCancel(ctx))
	if err != nil {
		return nil, fmt.Errorf("no credentials for Cloud Storage: set GOOGLE_APPLICATION_CREDENTIALS, or use a machine's service account or workload identity: %w", err)
	}
	client, err := gcp.NewHTTPClient(gcp.DefaultTransport(), gcp.CredentialsTokenSource(credentials))
	if err != nil {
		return nil, err
	}
	return gcsblob.OpenBucket(ctx, client, l.name, nil)
}

// Close lets go of the connections.
func (b *Bucket) Close() error { return b.blobs.Close() }
