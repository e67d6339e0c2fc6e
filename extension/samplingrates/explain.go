package samplingrates

import (
	"encoding/json"
	"net/http"

	"github.com/corehour/corehour/internal/rates"
)

// maxExplanations is the maximum number of versions and environments of a method in one explanation.
const maxExplanations = 1000

// explanations are the answer of /v1/explain.
type explanations struct {
	Explanations []rates.Explanation `json:"explanations"`
	More         int                 `json:"more,omitempty"` // left out
}

// serveExplain explains the rate of a method.
func (s *server) serveExplain(x *exchange) requestResult {
	q, err := explainParameters.parse(x.request.URL.RawQuery)
	if err != nil {
		return x.bad(err)
	}
	from := s.get()
	if from == nil {
		return x.unavailable()
	}
	all := from.source.Explain(q.target, q.method)
	shown := min(len(all), maxExplanations)
	body, err := json.Marshal(explanations{
		Explanations: append([]rates.Explanation{}, all[:shown]...),
		More:         len(all) - shown,
	})
	if err != nil {
		return x.failed(err)
	}
	x.Header().Set("Content-Type", "application/json")
	x.Header().Set("Cache-Control", "no-store")
	x.write(http.StatusOK, body)
	return resultOK
}
