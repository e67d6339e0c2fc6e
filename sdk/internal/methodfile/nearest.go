package methodfile

// nearest returns the known name that a stranger was probably meant to be: at
// most two letters away and fewer than half of its own.
func nearest(name string, known []string) string {
	best, distance := "", 3
	if len(name) > 64 {
		return ""
	}
	for _, k := range known {
		if d := editDistance(name, k); d < distance && 2*d < len(k) {
			best, distance = k, d
		}
	}
	return best
}

// editDistance counts the insertions, deletions, substitutions and swaps of
// neighbours between two names.
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			substitution := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				substitution++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, substitution)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
