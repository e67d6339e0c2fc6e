package report

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/corehour/corehour/test/fixture"
)

// probe is a page that measures the layout of the report in a browser, at the widths of a phone and a desktop.
const probe = `<!doctype html><body><script>
const found = [];
for (const width of [360, 1280]) {
  const frame = document.createElement('iframe');
  frame.style.cssText = 'width:' + width + 'px;height:3000px;border:0';
  frame.src = '/report';
  frame.onload = () => {
    const d = frame.contentDocument, root = d.documentElement;
    const charts = [...d.querySelectorAll('svg[role=img]')].map(s => s.getBoundingClientRect());
    const texts = [...d.querySelectorAll('svg text')].filter(t => t.textContent);
    found.push({
      width, wide: root.scrollWidth, charts: charts.length,
      flat: charts.filter(c => c.width < 10 || c.height < 10).length,
      small: texts.filter(t => parseFloat(frame.contentWindow.getComputedStyle(t).fontSize) < 11).length,
      unlabelled: d.querySelectorAll('svg[role=img]:not([aria-label])').length,
      ground: frame.contentWindow.getComputedStyle(d.body).backgroundColor,
    });
    if (found.length == 2) document.body.innerHTML = '<pre>' + JSON.stringify(found) + '</pre>';
  };
  document.body.append(frame);
}
</script></body>`

// TestReport_InBrowser needs Chromium at the path in COREHOUR_CHROMIUM.
func TestReport_InBrowser(t *testing.T) {
	chromium := os.Getenv("COREHOUR_CHROMIUM")
	if chromium == "" {
		t.Skip("COREHOUR_CHROMIUM is not set; make browser sets it")
	}
	report, err := gather(t, fixture.TwoReleases(t, 0.5), nil)
	if err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, report)
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/":
			_, _ = io.WriteString(w, probe)
		case "/report":
			_, _ = io.WriteString(w, page)
		case "/favicon.ico": // browsers request it on their own
			http.NotFound(w, r)
		default:
			mu.Lock()
			asked = append(asked, r.URL.String())
			mu.Unlock()
			http.NotFound(w, r)
		}
	}))
	defer server.Close()

	for scheme, ground := range map[string]string{"0": "rgb(20, 23, 27)", "1": "rgb(255, 255, 255)"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		out, err := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
			"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+t.TempDir(),
			"--blink-settings=preferredColorScheme="+scheme, "--virtual-time-budget=10000", "--dump-dom", server.URL).Output()
		if err != nil {
			t.Fatal(err)
		}
		match := regexp.MustCompile(`(?s)<pre>(.*)</pre>`).FindSubmatch(out)
		if match == nil {
			t.Fatalf("the page did not load: %s", out)
		}
		var layouts []struct {
			Width, Wide, Charts, Flat, Small, Unlabelled int
			Ground                                       string
		}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(match[1]), "&quot;", `"`)), &layouts); err != nil {
			t.Fatal(err)
		}
		for _, l := range layouts {
			name := fmt.Sprintf("%d pixels, colour scheme %s", l.Width, scheme)
			if l.Wide > l.Width {
				t.Errorf("%s: the page is %d pixels wide and has to be scrolled sideways", name, l.Wide)
			}
			if l.Charts < 10 || l.Flat > 0 || l.Unlabelled > 0 {
				t.Errorf("%s: of %d charts %d are flat and %d have no label", name, l.Charts, l.Flat, l.Unlabelled)
			}
			if l.Small > 0 {
				t.Errorf("%s: %d texts of charts are too small", name, l.Small)
			}
			if l.Ground != ground {
				t.Errorf("%s: the ground is %s, want %s", name, l.Ground, ground)
			}
		}
	}
	if len(asked) > 0 {
		t.Errorf("the page asked for %v", asked)
	}
}
