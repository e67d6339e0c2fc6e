package bigquery

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/corehour/corehour/internal/warehouse"
)

// bucket uploads files for load jobs over the JSON API of Cloud Storage. It creates objects and
// never overwrites one, so it needs only the permissions to create and to delete.
type bucket struct {
	rest   *REST
	name   string
	prefix string // of the objects' names, without a trailing slash
}

var bucketPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$`)

// CheckBucket returns an error if name is not a valid bucket name.
func CheckBucket(name string) error {
	if !bucketPattern.MatchString(name) {
		return fmt.Errorf("it must be the name of a Cloud Storage bucket without gs://, as my-bucket; found %q", name)
	}
	return nil
}

// CheckPrefix returns an error if prefix can't begin the names of objects.
func CheckPrefix(prefix string) error {
	const longest = 200
	if len(prefix) > longest || strings.ContainsFunc(prefix, func(r rune) bool { return r < 0x20 || r > 0x7e || strings.ContainsRune("*?#[]", r) }) {
		return fmt.Errorf("it must be at most %d printable ASCII characters without * ? # [ ], found %q", longest, prefix)
	}
	return nil
}

func openBucket(endpoints Endpoints, name, prefix string, credentials func() (oauth2.TokenSource, error)) (*bucket, error) {
	endpoints = endpoints.withDefaults()
	if err := CheckEndpoint(endpoints.Storage, DefaultStorageAPI); err != nil {
		return nil, fmt.Errorf("the endpoint of Cloud Storage: %w", err)
	}
	r := &REST{endpoints: endpoints}
	if err := r.connect(endpoints.Storage, credentials); err != nil {
		return nil, err
	}
	r.client.Timeout = uploadWithin // a file may be large
	return &bucket{rest: r, name: name, prefix: strings.Trim(prefix, "/")}, nil
}

func (b *bucket) objectName(file string) string {
	if b.prefix == "" {
		return file
	}
	return b.prefix + "/" + file
}

// uri returns the gs:// address of an object, as load jobs expect it.
func (b *bucket) uri(file string) string { return "gs://" + b.name + "/" + b.objectName(file) }

// uploadWithin bounds a request to the bucket, including its retries.
const uploadWithin = 5 * time.Minute

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// upload creates an object in one request, with a checksum that the service verifies. If an object
// of this name exists it has the same contents: names are random and files never change.
func (b *bucket) upload(ctx context.Context, file string, data []byte) error {
	sum := binary.BigEndian.AppendUint32(nil, crc32.Checksum(data, castagnoli))
	meta, err := json.Marshal(map[string]string{
		"name": b.objectName(file), "contentType": "application/vnd.apache.parquet", "crc32c": base64.StdEncoding.EncodeToString(sum),
	})
	if err != nil {
		return err
	}
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	for _, part := range [...]struct {
		kind string
		data []byte
	}{{"application/json; charset=UTF-8", meta}, {"application/vnd.apache.parquet", data}} {
		w, err := parts.CreatePart(textproto.MIMEHeader{"Content-Type": {part.kind}})
		if err != nil {
			return err
		}
		if _, err := w.Write(part.data); err != nil {
			return err
		}
	}
	if err := parts.Close(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, uploadWithin)
	defer cancel()
	err = b.rest.do(ctx, call{
		method: http.MethodPost,
		url: b.rest.endpoints.Storage + "/upload/storage/v1/b/" + url.PathEscape(b.name) +
			"/o?uploadType=multipart&ifGenerationMatch=0",
		body:   body.Bytes(),
		header: map[string]string{"Content-Type": "multipart/related; boundary=" + parts.Boundary()},
	}, nil)
	if HasStatus(err, http.StatusPreconditionFailed) {
		return nil
	}
	return err
}

// remove deletes an object. It returns nil if there is none.
func (b *bucket) remove(ctx context.Context, file string) error {
	ctx, cancel := context.WithTimeout(ctx, uploadWithin)
	defer cancel()
	err := b.rest.do(ctx, call{method: http.MethodDelete,
		url: b.rest.endpoints.Storage + "/storage/v1/b/" + url.PathEscape(b.name) + "/o/" + url.PathEscape(b.objectName(file))}, nil)
	if HasStatus(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// probe checks that the bucket exists and that the account has the needed permissions: it creates
// an object and deletes it.
func (b *bucket) probe(ctx context.Context) error {
	name := "probe-" + rand.Text()
	err := b.upload(ctx, name, nil)
	if err == nil {
		err = b.remove(ctx, name)
	}
	if err == nil {
		return nil
	}
	e := &warehouse.Error{Op: "write to the bucket", Path: "gs://" + b.name, Err: err}
	var f *Failure
	if errors.As(err, &f) {
		switch f.Status {
		case http.StatusNotFound:
			e.Hint = "the bucket must exist, in the location of the dataset: `gcloud storage buckets create gs://" + b.name + " --location=...`"
		case http.StatusForbidden, http.StatusUnauthorized:
			e.Hint = "the account needs roles/storage.objectUser on the bucket"
		}
	}
	return e
}
