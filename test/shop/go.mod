module shop

go 1.26.0

require github.com/corehour/corehour/sdk v0.1.0

// The shop is in the repository of the SDK and is never imported.
replace github.com/corehour/corehour/sdk => ../../sdk
