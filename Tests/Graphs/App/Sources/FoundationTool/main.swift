import Foundation

print("a".capitalized)
