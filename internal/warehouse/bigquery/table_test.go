package bigquery_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/test/fake"
)

func TestNewWriter_CreatesTableAndView(t *testing.T) {
	s := fake.New(t)
	o := options(s, t.TempDir())
	o.Expiration = 48 * time.Hour
	open(t, o)
	table := s.Table(dataset, "method_calls")
	if table == nil || table.TimePartitioning.Field != "event_date" || table.TimePartitioning.Type != "DAY" ||
		table.TimePartitioning.ExpirationMS != "172800000" || !table.RequirePartitionFilter ||
		!slices.Equal(table.Clustering.Fields, []string{"service", "class", "method", "version"}) || table.Labels[bigquery.LabelSchema] == "" {
		t.Errorf("%+v", table)
	}
	view := s.Table(dataset, "method_cost")
	if view == nil || view.View.UseLegacySQL || !strings.Contains(view.View.Query, "`my-project.corehour.method_calls`") || strings.Contains(view.View.Query, "PROJECT") {
		t.Errorf("%+v", view)
	}
}

// A table gets its missing columns and the version label. Settings made by hand stay.
func TestEnsureTable_AddsMissingColumns(t *testing.T) {
	s := fake.New(t)
	open(t, options(s, t.TempDir()))
	old := *s.Table(dataset, "method_calls")
	fields := slices.DeleteFunc(slices.Clone(old.Schema.Fields), func(f bigquery.Field) bool { return f.Name == "stack" || f.Name == "row_seq" })
	old.Schema = &bigquery.Schema{Fields: append(fields, bigquery.Field{Name: "mine", Type: "STRING", Mode: "NULLABLE"})}
	old.Labels = map[string]string{"team": "shop", bigquery.LabelSchema: "0"}
	old.TimePartitioning = &bigquery.TimePartitioning{Type: "DAY", Field: "event_date", ExpirationMS: "5"}
	s.PutTable(old)
	w := open(t, options(s, t.TempDir()))
	grown := s.Table(dataset, "method_calls")
	names := map[string]bigquery.Field{}
	for _, f := range grown.Schema.Fields {
		names[f.Name] = f
	}
	if names["stack"].Type != "STRING" || names["row_seq"].Mode != "NULLABLE" || names["mine"].Name == "" || grown.Labels["team"] != "shop" ||
		grown.Labels[bigquery.LabelSchema] == "0" || grown.TimePartitioning.ExpirationMS != "5" {
		t.Errorf("%+v", grown)
	}
	row := methodspan.Row{Kind: methodspan.KindCounts, Level: methodspan.LevelRaw, StartNS: noon.UnixNano(), Stack: "a;b"}
	if _, err := w.Write(t.Context(), []methodspan.Item{{ID: "a-1", Rows: []methodspan.Row{row}}}); err != nil {
		t.Error(err)
	}
}

// A start succeeds if the answer to its change of the table is lost, or if another collector
// changes the table at the same time.
func TestEnsureTable_ConcurrentChange(t *testing.T) {
	for _, lost := range []bool{true, false} {
		s := fake.New(t)
		open(t, options(s, t.TempDir()))
		made := *s.Table(dataset, "method_calls")
		full := made.Schema.Fields
		made.Schema = &bigquery.Schema{Fields: full[:len(full)-10]}
		s.PutTable(made)
		changes := 0
		change := func(method string) bool {
			if method == http.MethodPatch {
				changes++
			}
			return method == http.MethodPatch && changes == 1
		}
		if lost {
			s.LoseAnswer = func(method, _ string) bool { return change(method) }
		} else {
			s.OnREST = func(method, _ string) int {
				if change(method) { // another collector adds a column between our read and our change
					made.Schema = &bigquery.Schema{Fields: full[:len(full)-9]}
					s.PutTable(made)
				}
				return 0
			}
		}
		open(t, options(s, t.TempDir()))
		if n := len(s.Table(dataset, "method_calls").Schema.Fields); n != len(full) || changes < 2 {
			t.Errorf("answer lost %v: %d columns of %d after %d changes", lost, n, len(full), changes)
		}
	}
}

// A table that changes at every attempt is an error.
func TestEnsureTable_TableKeepsChanging(t *testing.T) {
	s := fake.New(t)
	open(t, options(s, t.TempDir()))
	made := *s.Table(dataset, "method_calls")
	made.Schema = &bigquery.Schema{Fields: made.Schema.Fields[:20]}
	s.PutTable(made)
	changes := 0
	s.OnREST = func(method, _ string) int {
		if method == http.MethodPatch {
			changes++
			s.PutTable(made)
		}
		return 0
	}
	if _, err := bigquery.NewWriter(t.Context(), options(s, t.TempDir())); !bigquery.HasStatus(err, http.StatusPreconditionFailed) || changes != 4 {
		t.Errorf("%v after %d changes", err, changes)
	}
}

// A new table keeps its days for ever if configured, whatever the dataset's default is. An existing
// table stays unchanged, and the start warns.
func TestEnsureTable_NoExpiration(t *testing.T) {
	s := fake.New(t)
	s.DefaultExpirationMS = "172800000"
	var warned []string
	o := options(s, t.TempDir())
	o.Warn = func(text string) { warned = append(warned, text) }
	open(t, o)
	made := *s.Table(dataset, bigquery.TableName)
	if made.TimePartitioning.ExpirationMS != "" || made.TimePartitioning.Field != "event_date" || warned != nil {
		t.Errorf("%+v %q", made.TimePartitioning, warned)
	}
	made.TimePartitioning = &bigquery.TimePartitioning{Type: "DAY", Field: "event_date", ExpirationMS: "172800000"}
	made.ExpirationTime = "1893456000000"
	s.PutTable(made)
	o.Directory = t.TempDir()
	open(t, o)
	if s.Table(dataset, bigquery.TableName).TimePartitioning.ExpirationMS != "172800000" || len(warned) != 2 ||
		!strings.Contains(warned[0], "my-project.corehour.method_calls keeps a day for 48h0m0s, and `partition_expiration` is for ever") ||
		!strings.Contains(warned[1], "expires at 2030-01-01T00:00:00Z with all its rows") {
		t.Errorf("%q", warned)
	}
	// Without the permission to change the table the start warns.
	s.Drop(dataset, bigquery.TableName)
	s.OnREST = func(method, _ string) int {
		if method == http.MethodPatch {
			return http.StatusForbidden
		}
		return 0
	}
	warned, o.Directory = nil, t.TempDir()
	open(t, o)
	if len(warned) != 1 || !strings.Contains(warned[0], "keeps a day for 48h0m0s") {
		t.Errorf("%q", warned)
	}
}

// A table that is dropped while rows arrive is created again with a warning, and later rows are
// stored.
func TestModes_DroppedTableRecreated(t *testing.T) {
	items := func(r *rand.Rand) (all []methodspan.Item) {
		for i := range 3 {
			all = append(all, randomItem(r, fmt.Sprint("a-", i), 10))
		}
		return all
	}
	for name, store := range map[string]func(t *testing.T, s *fake.Server, o bigquery.Options) func(methodspan.Item){
		"storage_write": func(t *testing.T, s *fake.Server, o bigquery.Options) func(methodspan.Item) {
			w := open(t, o)
			return func(item methodspan.Item) { persist(t, w, []methodspan.Item{item}) }
		},
		"load": func(t *testing.T, s *fake.Server, o bigquery.Options) func(methodspan.Item) {
			l := openLoader(t, o, byHand())
			return func(item methodspan.Item) {
				spool(t, l, item)
				for n := 0; l.Stats().SpoolRows > 0 && n < 10; n++ {
					_ = l.Round(t.Context(), true)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := fake.New(t)
			var warned []string
			o := options(s, t.TempDir())
			o.Warn = func(text string) { warned = append(warned, text) }
			write := store(t, s, o)
			all := items(rand.New(rand.NewPCG(31, 1)))
			write(all[0])
			s.Drop(dataset, bigquery.TableName)
			s.Drop(dataset, bigquery.ViewName)
			write(all[1])
			write(all[2])
			exact(t, s, all[1:])
			if len(warned) != 1 || !strings.Contains(warned[0], "The table my-project.corehour.method_calls was missing and is created again") {
				t.Errorf("%q", warned)
			}
			if s.Table(dataset, bigquery.ViewName) == nil {
				t.Error("the view was not created again")
			}
		})
	}
}

// The view needs a permission that storing rows does not need. Without it the start warns.
func TestEnsureView_Forbidden(t *testing.T) {
	s := fake.New(t)
	made := 0
	s.OnREST = func(method, _ string) int {
		if method == http.MethodPost {
			if made++; made > 1 {
				return http.StatusForbidden
			}
		}
		return 0
	}
	var warned []string
	o := options(s, t.TempDir())
	o.Warn = func(text string) { warned = append(warned, text) }
	w := open(t, o)
	if len(warned) != 1 || !strings.Contains(warned[0], "the permission bigquery.tables.getData on the table") || s.Table(dataset, bigquery.ViewName) != nil {
		t.Errorf("%q", warned)
	}
	items := []methodspan.Item{randomItem(rand.New(rand.NewPCG(32, 1)), "a-1", 5)}
	persist(t, w, items)
	exact(t, s, items)
}

// A view of a newer version stays, one of a lower version is replaced.
func TestEnsureView_KeepsNewerView(t *testing.T) {
	s := fake.New(t)
	open(t, options(s, t.TempDir()))
	for label, stays := range map[string]bool{"999": true, "0": false} {
		view := *s.Table(dataset, "method_cost")
		view.View = &bigquery.View{Query: "SELECT 'of another version'"}
		view.Labels = map[string]string{bigquery.LabelSchema: label}
		s.PutTable(view)
		open(t, options(s, t.TempDir()))
		got := s.Table(dataset, "method_cost")
		if (got.View.Query == view.View.Query) != stays || (got.Labels[bigquery.LabelSchema] == label) != stays {
			t.Errorf("the view of version %s is now %v %.40q", label, got.Labels, got.View.Query)
		}
	}
}

// Errors contain no possible credentials.
func TestCheckEndpoint_HidesCredentials(t *testing.T) {
	for address, want := range map[string]string{
		"https://me:hunter2@host":     "without user and password",
		"ftp://me:hunter2@host":       "without user and password",
		"https://me:hunter2@ho st":    "must be a URL",
		"//host?key=hunter2":          "must be a URL",
		"https://bigquery.test:8443/": "",
	} {
		err := bigquery.CheckEndpoint(address, bigquery.DefaultAPI)
		if want == "" && err == nil {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "me:") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// A stream that does not know new columns yet refuses rows, which are not lost.
func TestWriter_StreamLacksNewColumns(t *testing.T) {
	s := fake.New(t)
	w := open(t, options(s, t.TempDir()))
	full := *s.Table(dataset, "method_calls")
	short := full
	short.Schema = &bigquery.Schema{Fields: full.Schema.Fields[:20]}
	s.PutTable(short)
	items := []methodspan.Item{{ID: "a-1", Rows: []methodspan.Row{{Resource: &methodspan.Resource{}, Kind: "counts", Level: "raw", StartNS: noon.UnixNano()}}}}
	if _, err := w.Write(t.Context(), items); err == nil || isUnknown(err) || !strings.Contains(err.Error(), "streams see them after some minutes") {
		t.Errorf("%v", err)
	}
	s.PutTable(full)
	persist(t, w, items)
	exact(t, s, items)
}

func TestEnsureTable_IncompatibleTable(t *testing.T) {
	for want, spoil := range map[string]func(*bigquery.Table){
		"the column calls must be REQUIRED FLOAT, found REQUIRED STRING": func(b *bigquery.Table) {
			for i := range b.Schema.Fields {
				if b.Schema.Fields[i].Name == "calls" {
					b.Schema.Fields[i].Type = "STRING"
				}
			}
		},
		"must be partitioned by day of event_date": func(b *bigquery.Table) { b.TimePartitioning = nil },
		"the column mine is required": func(b *bigquery.Table) {
			b.Schema.Fields = append(b.Schema.Fields, bigquery.Field{Name: "mine", Type: "STRING", Mode: "REQUIRED"})
		},
	} {
		s := fake.New(t)
		open(t, options(s, t.TempDir()))
		table := *s.Table(dataset, "method_calls")
		table.Schema = &bigquery.Schema{Fields: slices.Clone(table.Schema.Fields)}
		spoil(&table)
		s.PutTable(table)
		if _, err := bigquery.NewWriter(t.Context(), options(s, t.TempDir())); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A short failure of the service does not stop the start.
func TestNewWriter_RetriesAtStart(t *testing.T) {
	s := fake.New(t)
	n := 0
	s.OnREST = func(string, string) int {
		if n++; n <= 3 {
			return 503
		}
		return 0
	}
	open(t, options(s, t.TempDir()))
	s.OnREST = func(string, string) int { return 403 }
	var typed *warehouse.Error
	_, err := bigquery.NewWriter(t.Context(), options(s, t.TempDir()))
	if !errors.As(err, &typed) || !strings.Contains(typed.Hint, "roles/bigquery.dataEditor") {
		t.Errorf("%v", err)
	}
}
