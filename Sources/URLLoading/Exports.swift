// As on Apple platforms, where URLSession is part of Foundation: importing this module also imports Foundation.
@_exported public import Foundation
