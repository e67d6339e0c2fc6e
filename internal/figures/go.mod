module github.com/corehour/corehour/internal/figures

go 1.26.0
