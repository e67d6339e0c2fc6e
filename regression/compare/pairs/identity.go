package pairs

import (
	"slices"

	"github.com/corehour/corehour/regression/compare/evidence"
)

// identify fills in the class, method, signature and metric of the verdict on the method with index m, and the number
// of measured calls that were not compared.
func (s *preparedPair) identify(m int, v *evidence.Verdict) {
	v.Class, v.Method, v.Signature, v.Metric = s.names[m].Class, s.names[m].Method, s.names[m].Signature, string(s.metric)
	v.NotCompared = max(0, int64(s.measured[m])-v.BaseRecords-v.HeadRecords)
	if v.BaseRecords+v.HeadRecords == 0 && !v.State.Judged() {
		v.State = evidence.FewRecords // called, but not measured in this metric
	}
}

// identifyAlert calls identify for a raised verdict. The whole service has no class and method.
func (s *preparedPair) identifyAlert(v *evidence.Verdict) {
	v.Metric = string(s.metric)
	if m := slices.Index(s.deployment.Methods, v.FullName); m >= 0 && v.Kind != evidence.WholeService {
		v.Class, v.Method, v.Signature = s.names[m].Class, s.names[m].Method, s.names[m].Signature
	}
}
