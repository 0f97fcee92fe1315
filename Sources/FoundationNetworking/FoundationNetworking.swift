@_exported public import URLLoading
