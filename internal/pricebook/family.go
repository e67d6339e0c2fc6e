package pricebook

import "strings"

// Family returns the family of machines that a type of host belongs to, empty if its name has
// no known form: m7i of m7i.large, n2-standard of n2-standard-8, Standard_Ds_v5 of
// Standard_D4s_v5.
func Family(hostType string) string {
	if size, ok := strings.CutPrefix(hostType, "Standard_"); ok {
		return withoutSize(size)
	}
	if i := strings.LastIndexByte(hostType, '.'); i > 0 {
		return hostType[:i]
	}
	if i := strings.LastIndexByte(hostType, '-'); i > 0 && isNumber(hostType[i+1:]) {
		return hostType[:i]
	}
	return ""
}

// withoutSize removes the number of vCPUs from an Azure size. It returns empty for a size with a
// dash, which has fewer vCPUs than are paid for and so another price.
func withoutSize(size string) string {
	from := strings.IndexAny(size, "0123456789")
	if from < 1 || strings.Contains(size, "-") {
		return ""
	}
	to := from
	for to < len(size) && isNumber(size[to:to+1]) {
		to++
	}
	return "Standard_" + size[:from] + size[to:]
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
