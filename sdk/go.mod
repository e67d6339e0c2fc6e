module github.com/corehour/corehour/sdk

go 1.25.0
