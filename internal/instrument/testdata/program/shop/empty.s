// The function nanotime has no body here.
