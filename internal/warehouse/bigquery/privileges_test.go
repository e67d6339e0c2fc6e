package bigquery_test

import (
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/test/fake"
)

// permissions maps requests to the permission that the services require.
var permissions = []struct {
	request *regexp.Regexp
	needs   string
}{
	{regexp.MustCompile(`^GET .*/tables/[^/]+$`), "bigquery.tables.get"},
	{regexp.MustCompile(`^POST .*/tables$`), "bigquery.tables.create"},
	{regexp.MustCompile(`^PATCH .*/tables/[^/]+$`), "bigquery.tables.update"},
	{regexp.MustCompile(`^POST .*/jobs$`), "bigquery.jobs.create"},
	{regexp.MustCompile(`^GET .*/jobs/[^/]+$`), "bigquery.jobs.create"}, // for own jobs
	{regexp.MustCompile(`^POST /upload/.*/o$`), "storage.objects.create"},
	{regexp.MustCompile(`^DELETE .*/o/.+$`), "storage.objects.delete"},
}

// The guide on BigQuery names every permission that mode load needs: to create and extend the
// table, to load, and to clean up.
func TestPermissions_NamedInGuide(t *testing.T) {
	page, err := os.ReadFile("../../../docs/guides/bigquery.md")
	if err != nil {
		t.Fatal(err)
	}
	s := fake.New(t)
	var mu sync.Mutex
	asked := map[string]bool{}
	s.OnREST = func(method, path string) int {
		mu.Lock()
		defer mu.Unlock()
		for _, p := range permissions {
			if p.request.MatchString(method + " " + path) {
				asked[p.needs] = true
				return 0
			}
		}
		t.Errorf("%s %s needs a permission that the test does not know", method, path)
		return 0
	}
	open(t, options(s, t.TempDir()))
	old := *s.Table(dataset, "method_calls")
	old.Labels = map[string]string{bigquery.LabelSchema: "0"}
	s.PutTable(old)
	l := openLoader(t, options(s, t.TempDir()), byHand())
	spool(t, l, randomItem(rand.New(rand.NewPCG(41, 1)), "a-1", 5))
	rounds(t, l, 3)
	for _, p := range permissions {
		if !asked[p.needs] {
			t.Errorf("nothing asked for %s", p.needs)
		}
		if !strings.Contains(string(page), "`"+p.needs+"`") {
			t.Errorf("the page does not name %s", p.needs)
		}
	}
}
