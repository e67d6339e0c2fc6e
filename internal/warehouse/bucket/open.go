package bucket

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	"gocloud.dev/aws"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/blob/s3blob"
	"gocloud.dev/gcp"
	"google.golang.org/api/option"

	"github.com/corehour/corehour/internal/warehouse"
)

// Bucket is an object store that holds the prefixes of any number of collectors.
type Bucket struct {
	location
	blobs *blob.Bucket
	// identify, if not nil, returns the reason why there are no credentials.
	identify func(context.Context) error
	inject   Injector
	// warn, if not nil, receives the warnings of the store's client.
	warn func(string)
}

// firstAnswer bounds the time a command waits for the first answer. It is long enough to find credentials
// and to list a page of a distant store, and short enough for a person who waits.
const firstAnswer = 10 * time.Second

// Injector is called before and after every request, for tests. op is create, read, list or remove. An error
// returned before a request replaces it; an error returned after it hides its success.
type Injector func(op, key string, after bool) error

// Inject makes all further requests call i.
func (b *Bucket) Inject(i Injector) { b.inject = i }

// Open opens a bucket. It makes no request.
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
		b.blobs, b.identify, err = openS3(ctx, l, logging.LoggerFunc(b.log))
	case schemeFile:
		// An object needs no metadata, so the driver writes no second file for it.
		b.blobs, err = fileblob.OpenBucket(l.name, &fileblob.Options{Metadata: fileblob.MetadataDontWrite, NoTempDir: true})
		if os.IsNotExist(err) {
			err = fmt.Errorf("%w (create the directory first)", err)
		}
	}
	if err != nil {
		return nil, &warehouse.Error{Op: "open", Path: l.String(), Kind: ErrRefused, Err: err}
	}
	return b, nil
}

// log receives the lines of the S3 client, which writes them to standard error by default.
func (b *Bucket) log(kind logging.Classification, format string, args ...any) {
	if b.warn != nil && kind == logging.Warn {
		b.warn("The S3 client warns: " + fmt.Sprintf(format, args...))
	}
}

// openS3 leaves the options to the driver, except for a missing region, which the driver would look up
// with every request. The driver's client has no option for a logger, so openS3 creates a second client
// with one.
func openS3(ctx context.Context, l *location, log logging.Logger) (*blob.Bucket, func(context.Context) error, error) {
	who := url.Values{}
	for _, option := range []string{"region", "profile", "anonymous"} {
		if l.query.Has(option) {
			who.Set(option, l.query.Get(option))
		}
	}
	config, err := aws.V2ConfigFromURLParams(ctx, who)
	if err != nil {
		return nil, nil, err
	}
	if config.Region == "" {
		return nil, nil, fmt.Errorf("no region: add it to the address, %s?region=eu-central-1, or set AWS_REGION; for a store that has none any will do", l)
	}
	u := &url.URL{Scheme: schemeS3, Host: l.name, RawQuery: l.query.Encode()}
	opener := &s3blob.URLOpener{}
	blobs, err := opener.OpenBucketURL(ctx, u)
	if err != nil {
		return nil, nil, err
	}
	var client *s3.Client
	if blobs.As(&client) {
		client = s3.New(client.Options(), func(o *s3.Options) { o.Logger, o.HTTPClient = log, fewRedirects(o.HTTPClient) })
		blobs, err = s3blob.OpenBucket(ctx, client, l.name, &opener.Options)
	}
	identify := func(ctx context.Context) error {
		_, err := config.Credentials.Retrieve(ctx)
		return err
	}
	return blobs, identify, err
}

// mostRedirects bounds the redirects of one request. The S3 client follows them without end.
const mostRedirects = 5

// fewRedirects returns a client that follows redirects as c does, up to mostRedirects.
func fewRedirects(c s3.HTTPClient) s3.HTTPClient {
	own, ok := c.(interface{ GetTransport() *http.Transport })
	if !ok {
		return c
	}
	return &http.Client{Transport: own.GetTransport(), CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if status := r.Response.StatusCode; status != http.StatusTemporaryRedirect && status != http.StatusPermanentRedirect {
			return http.ErrUseLastResponse
		}
		if len(via) >= mostRedirects {
			return fmt.Errorf("the store redirects more than %d times", mostRedirects)
		}
		if via[len(via)-1].URL.Host != r.URL.Host {
			r.Header.Del("X-Amz-Security-Token")
		}
		return nil
	}}
}

// openGCS uses the credentials of the environment. An endpoint that begins with http:// is an emulator and
// gets no credentials.
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

// Close closes the connections.
func (b *Bucket) Close() error { return b.blobs.Close() }
