package bucket

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// s3At opens a bucket of an S3 server that answers with answer.
func s3At(t *testing.T, answer http.HandlerFunc) *Bucket {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	b, err := Open(t.Context(), "s3://b?region=us-east-1&use_path_style=true&endpoint="+server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A list without the time of an object is an error, no panic.
func TestList_WithoutLastModified(t *testing.T) {
	b := s3At(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		fmt.Fprint(w, `<?xml version="1.0"?><ListBucketResult><Name>b</Name><IsTruncated>false</IsTruncated><KeyCount>1</KeyCount>`+
			`<Contents><Key>p/_manifest/1.json</Key><Size>3</Size></Contents></ListBucketResult>`)
	})
	if _, err := b.Store("p").list(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "without LastModified") {
		t.Errorf("%v", err)
	}
}

// A server that always redirects gets few requests.
func TestRedirects_Bounded(t *testing.T) {
	var requests atomic.Int64
	b := s3At(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		http.Redirect(w, r, r.URL.Path+"?"+r.URL.RawQuery, http.StatusTemporaryRedirect)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := b.Store("p").list(ctx, "")
	if n := requests.Load(); err == nil || ctx.Err() != nil || n > 10*(mostRedirects+1) || !strings.Contains(err.Error(), "redirects more than") {
		t.Errorf("%d requests, %v", n, err)
	}
}
