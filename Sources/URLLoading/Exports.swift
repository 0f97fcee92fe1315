// As on Apple platforms, where one import brings both: whoever imports this module has Foundation too.
@_exported public import Foundation
