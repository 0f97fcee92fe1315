// As on Apple platforms, where URLSession is part of Foundation: importing this module also imports Foundation.
@_exported public import Foundation

// Where this module is only that, systems other than Apple's have URLSession in the toolchain's module.
#if URL_LOADING_REEXPORTS && canImport(FoundationNetworking)
    @_exported public import FoundationNetworking
#endif
