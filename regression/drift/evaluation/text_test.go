package evaluation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// Text has the services with a finding and the top of the others. JSON and CSV have all.
func TestDocument_Top(t *testing.T) {
	f := newEvaluation()
	for i := range 4 {
		s := &Service{Service: query.Service{Name: fmt.Sprint("service-", i)}, Metric: query.CPU, Methods: 1, Judged: i % 2, Verdicts: []Verdict{{Class: "a", Method: fmt.Sprint("M", i), State: NotProven, Records: int64(10 * i)}}}
		if i == 1 {
			s.Verdicts[0].State = Earlier
			for range manyVerdicts { // too many to print those without a finding
				s.Verdicts = append(s.Verdicts, Verdict{Class: "a", Method: "Quiet", State: NotProven})
			}
		}
		f.addService(s)
	}
	for _, c := range []struct {
		format output.Format
		top    int
		named  string // services
		quiet  int    // lines of methods without a finding in the service with many
	}{
		{output.Text, 1, "1 3", 0}, {output.MarkdownPage, 1, "1 3", 0}, {output.Text, 0, "0 1 2 3", manyVerdicts}, {output.CSV, 1, "0 1 2 3", manyVerdicts}, {output.JSON, 1, "0 1 2 3", manyVerdicts},
	} {
		var b strings.Builder
		if err := f.Document(output.View{Format: c.format, Top: c.top}).Write(&b, c.format); err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(b.String(), `\`, "")
		var named []string
		for i := range 4 {
			if strings.Contains(text, fmt.Sprint("service-", i)) {
				named = append(named, fmt.Sprint(i))
			}
		}
		const rest = "2 more services without a finding, of 2 methods, 0 with enough history: --all prints them"
		if strings.Join(named, " ") != c.named || strings.Count(text, "Quiet") != c.quiet || strings.Contains(text, rest) != (c.named == "1 3") {
			t.Errorf("%s, top %d: services %s, want %s: %s", c.format, c.top, named, c.named, text)
		}
	}
}
