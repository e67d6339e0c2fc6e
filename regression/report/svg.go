package report

import (
	"fmt"
	"html"
	"html/template"
	"strings"

	"github.com/corehour/corehour/regression/output"
)

// drawing is a chart as SVG. Horizontal positions are percentages and vertical ones pixels, so that the chart
// fits every screen without scaling its text.
type drawing struct {
	b      strings.Builder
	height float64
	label  string // the label for screen readers
}

func newDrawing(height float64, label string) *drawing { return &drawing{height: height, label: label} }

// clean makes untrusted text safe for an attribute or an element.
func clean(s string) string { return html.EscapeString(output.Printable(s)) }

func (d *drawing) rect(x, y, width, height float64, class, title string) {
	fmt.Fprintf(&d.b, `<rect x="%.3f%%" y="%.1f" width="%.3f%%" height="%.1f" class="%s">`, x, y, max(0, width), height, class)
	if title != "" {
		fmt.Fprintf(&d.b, `<title>%s</title>`, clean(title))
	}
	d.b.WriteString(`</rect>`)
}

func (d *drawing) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&d.b, `<line x1="%.3f%%" y1="%.1f" x2="%.3f%%" y2="%.1f" class="%s"/>`, x1, y1, x2, y2, class)
}

func (d *drawing) dot(x, y, radius float64, class, title string) {
	fmt.Fprintf(&d.b, `<circle cx="%.3f%%" cy="%.1f" r="%.1f" class="%s"><title>%s</title></circle>`, x, y, radius, class, clean(title))
}

// text adds a label of an axis. The anchor is "start", "middle" or "end": the part of the text that is at x.
func (d *drawing) text(x, y float64, anchor, s string) {
	fmt.Fprintf(&d.b, `<text x="%.3f%%" y="%.1f" text-anchor="%s" class="axis">%s</text>`, x, y, anchor, clean(s))
}

// box adds a rectangle with the text s, clipped at its edges.
func (d *drawing) box(x, y, width, height float64, class, title, s, textClass string) {
	fmt.Fprintf(&d.b, `<svg x="%.3f%%" y="%.1f" width="%.3f%%" height="%.1f"><rect width="100%%" height="100%%" class="%s"><title>%s</title></rect>`,
		x, y, width, height, class, clean(title))
	if s != "" {
		fmt.Fprintf(&d.b, `<text x="4" y="%.1f" class="%s">%s</text>`, height-5, textClass, clean(s))
	}
	d.b.WriteString(`</svg>`)
}

func (d *drawing) html() template.HTML {
	//nolint:gosec // every text in it went through clean
	return template.HTML(fmt.Sprintf(`<svg role="img" aria-label="%s" width="100%%" height="%.0f">%s</svg>`, clean(d.label), d.height, d.b.String()))
}
