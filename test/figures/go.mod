module github.com/corehour/corehour/test/figures

go 1.26.0
